module github.com/hashicorp/go-kms-wrapping/wrappers/alicloudkms/v2

go 1.20

require github.com/hashicorp/go-kms-wrapping/v2 v2.0.9
