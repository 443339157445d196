// Package discover takes the place of one that finds the nodes of a cluster in a dozen clouds, with the library of each.
package discover

import (
	"errors"
	"log"
)

var errNone = errors.New("this Vault is no cluster, and finds no other nodes")

// Provider would know one cloud.
type Provider interface {
	Addrs(args map[string]string, logger *log.Logger) ([]string, error)
}

// Providers are those that are built in.
var Providers = map[string]Provider{}

// Discover finds nothing.
type Discover struct{}

// Option would change a Discover.
type Option func(*Discover) error

// WithProviders changes nothing.
func WithProviders(map[string]Provider) Option {
	return func(*Discover) error { return nil }
}

// New returns what Vault asks for when a node joins.
func New(...Option) (*Discover, error) {
	return &Discover{}, nil
}

// Addrs says that there are none.
func (*Discover) Addrs(string, *log.Logger) ([]string, error) {
	return nil, errNone
}
