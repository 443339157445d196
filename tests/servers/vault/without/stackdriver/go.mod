module github.com/google/go-metrics-stackdriver

go 1.20

require (
	cloud.google.com/go/monitoring v1.13.0
	github.com/armon/go-metrics v0.4.1
)
