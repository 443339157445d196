// Package okta takes the place of one that asks Okta for a second factor.
package okta

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/okta/okta-sdk-golang/v2/okta/query"
)

var errNotHere = errors.New("not in this Vault")

// Client has the calls that Vault makes. Each of them fails.
type Client struct {
	User       users
	UserFactor factors
}

// ConfigSetter says nothing.
type ConfigSetter struct{}

func WithToken(string) ConfigSetter  { return ConfigSetter{} }
func WithOrgUrl(string) ConfigSetter { return ConfigSetter{} }
func WithCache(bool) ConfigSetter    { return ConfigSetter{} }

// NewClient is called for a second factor that no configuration here has.
func NewClient(ctx context.Context, _ ...ConfigSetter) (context.Context, *Client, error) {
	return ctx, nil, errNotHere
}

// CloneRequestExecutor returns what sends no request.
func (*Client) CloneRequestExecutor() *RequestExecutor { return &RequestExecutor{} }

// Response is none.
type Response struct{}

// User is a person.
type User struct{ Id string }

// Factor is what a person proves themself with.
type Factor interface{ IsUserFactorInstance() bool }

// UserFactor is one that belongs to a person.
type UserFactor struct{ Id, FactorType string }

func (*UserFactor) IsUserFactorInstance() bool { return true }

// VerifyFactorRequest is nothing.
type VerifyFactorRequest struct{}

// VerifyUserFactorResponse is an answer that never comes.
type VerifyUserFactorResponse struct {
	FactorResult string
	Links        interface{}
}

type users struct{}

func (users) ListUsers(context.Context, *query.Params) ([]*User, *Response, error) {
	return nil, nil, errNotHere
}

type factors struct{}

func (factors) ListFactors(context.Context, string) ([]Factor, *Response, error) {
	return nil, nil, errNotHere
}

func (factors) VerifyFactor(
	context.Context, string, string, VerifyFactorRequest, *UserFactor, *query.Params,
) (*VerifyUserFactorResponse, *Response, error) {
	return nil, nil, errNotHere
}

// RequestExecutor sends nothing.
type RequestExecutor struct{}

func (r *RequestExecutor) WithAccept(string) *RequestExecutor      { return r }
func (r *RequestExecutor) WithContentType(string) *RequestExecutor { return r }

func (*RequestExecutor) NewRequest(string, string, io.Reader) (*http.Request, error) {
	return nil, errNotHere
}

func (*RequestExecutor) Do(context.Context, *http.Request, interface{}) (*Response, error) {
	return nil, errNotHere
}
