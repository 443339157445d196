// Package k8s takes the place of one that finds nodes in Kubernetes.
package k8s

import (
	"errors"
	"log"
)

// Provider finds nothing.
type Provider struct{}

// Addrs says so.
func (*Provider) Addrs(map[string]string, *log.Logger) ([]string, error) {
	return nil, errors.New("this Vault finds no nodes in Kubernetes")
}
