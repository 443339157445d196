// Package ocikms takes the place of one that seals a Vault with Oracle Cloud.
package ocikms

import wrapping "github.com/hashicorp/go-kms-wrapping/v2"

// Wrapper has no methods of its own: whoever calls one panics.
type Wrapper struct{ wrapping.Wrapper }

// NewWrapper is called for a seal that no configuration here names.
func NewWrapper() *Wrapper { return &Wrapper{} }

// Names of what a seal says about itself.
const (
	KmsConfigKeyId              = "key_id"
	KmsConfigCryptoEndpoint     = "crypto_endpoint"
	KmsConfigManagementEndpoint = "management_endpoint"
)
