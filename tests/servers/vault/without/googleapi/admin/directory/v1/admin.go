// Package admin takes the place of one that asks Google Workspace for people and their groups.
package admin

import (
	"context"
	"errors"

	"google.golang.org/api/option"
)

const (
	AdminDirectoryGroupReadonlyScope = ""
	AdminDirectoryUserReadonlyScope  = ""
)

var errNotHere = errors.New("not in this Vault")

// Service has the calls that Vault makes. Each of them fails.
type Service struct {
	Groups groupsService
	Users  usersService
}

// NewService is called for a way to sign in that no configuration here has.
func NewService(context.Context, ...option.ClientOption) (*Service, error) { return nil, errNotHere }

// Groups are those of a person.
type Groups struct{ Groups []Group }

// Group is one of them.
type Group struct{ Email string }

// User is a person.
type User struct{ CustomSchemas map[string][]byte }

type groupsService struct{}

func (groupsService) List() groupsCall { return groupsCall{} }

type groupsCall struct{}

func (c groupsCall) UserKey(string) groupsCall   { return c }
func (c groupsCall) Domain(string) groupsCall    { return c }
func (c groupsCall) Fields(...string) groupsCall { return c }

func (groupsCall) Pages(context.Context, func(*Groups) error) error { return errNotHere }

type usersService struct{}

func (usersService) Get(string) usersCall { return usersCall{} }

type usersCall struct{}

func (c usersCall) Context(context.Context) usersCall { return c }
func (c usersCall) Projection(string) usersCall       { return c }
func (c usersCall) CustomFieldMask(string) usersCall  { return c }
func (c usersCall) Fields(...string) usersCall        { return c }

func (usersCall) Do() (*User, error) { return nil, errNotHere }
