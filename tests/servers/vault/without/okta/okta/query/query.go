// Package query takes the place of one with the parameters of a request to Okta.
package query

// Params are none.
type Params struct{}

// ParamOptions says nothing.
type ParamOptions struct{}

// WithFilter is called for a second factor that no configuration here has.
func WithFilter(string) ParamOptions { return ParamOptions{} }

// NewQueryParams is called for a second factor that no configuration here has.
func NewQueryParams(...ParamOptions) *Params { return &Params{} }
