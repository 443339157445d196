module cloud.google.com/go/monitoring

go 1.20

require google.golang.org/api v0.124.0
