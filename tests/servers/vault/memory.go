package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	dbplugin "github.com/hashicorp/vault/sdk/database/dbplugin/v5"
	"github.com/hashicorp/vault/sdk/helper/consts"
)

// memory is a database that has no users but those that Vault's own leases remember.
type memory struct{}

func (memory) Initialize(_ context.Context, req dbplugin.InitializeRequest) (dbplugin.InitializeResponse, error) {
	return dbplugin.InitializeResponse{Config: req.Config}, nil
}

func (memory) NewUser(_ context.Context, req dbplugin.NewUserRequest) (dbplugin.NewUserResponse, error) {
	random := make([]byte, 8)
	if _, err := rand.Read(random); err != nil {
		return dbplugin.NewUserResponse{}, err
	}
	name := "v-" + req.UsernameConfig.DisplayName + "-" + req.UsernameConfig.RoleName + "-" + hex.EncodeToString(random)
	return dbplugin.NewUserResponse{Username: name}, nil
}

func (memory) UpdateUser(context.Context, dbplugin.UpdateUserRequest) (dbplugin.UpdateUserResponse, error) {
	return dbplugin.UpdateUserResponse{}, nil
}

func (memory) DeleteUser(context.Context, dbplugin.DeleteUserRequest) (dbplugin.DeleteUserResponse, error) {
	return dbplugin.DeleteUserResponse{}, nil
}

func (memory) Type() (string, error) { return "memory", nil }

func (memory) Close() error { return nil }

// registry is Vault's list of plugins: the database "memory" alone.
type registry struct{}

func (registry) Contains(name string, kind consts.PluginType) bool {
	return name == "memory" && kind == consts.PluginTypeDatabase
}

func (r registry) Get(name string, kind consts.PluginType) (func() (interface{}, error), bool) {
	return func() (interface{}, error) { return memory{}, nil }, r.Contains(name, kind)
}

func (registry) Keys(kind consts.PluginType) []string {
	if kind == consts.PluginTypeDatabase {
		return []string{"memory"}
	}
	return nil
}

func (registry) DeprecationStatus(string, consts.PluginType) (consts.DeprecationStatus, bool) {
	return consts.Supported, true
}

func (registry) IsBuiltinEntPlugin(string, consts.PluginType) bool { return false }
