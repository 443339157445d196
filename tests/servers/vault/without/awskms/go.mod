module github.com/hashicorp/go-kms-wrapping/wrappers/awskms/v2

go 1.20

require (
	github.com/hashicorp/go-hclog v1.5.0
	github.com/hashicorp/go-kms-wrapping/v2 v2.0.9
)
