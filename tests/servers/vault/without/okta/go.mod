module github.com/okta/okta-sdk-golang/v2

go 1.20
