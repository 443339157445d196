// Package option takes the place of one with options for clients of Google's services.
package option

import "net/http"

// ClientOption says nothing.
type ClientOption struct{}

// WithHTTPClient is called for the groups of people in Google Workspace, which no configuration here asks for.
func WithHTTPClient(*http.Client) ClientOption { return ClientOption{} }

// WithUserAgent is called for telemetry that no configuration here names.
func WithUserAgent(string) ClientOption { return ClientOption{} }
