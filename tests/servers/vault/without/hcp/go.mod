module github.com/hashicorp/hcp-sdk-go

go 1.20
