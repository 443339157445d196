package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/hashicorp/go-hclog"
	jwt "github.com/hashicorp/vault-plugin-auth-jwt"
	kubernetes "github.com/hashicorp/vault-plugin-auth-kubernetes"
	kv "github.com/hashicorp/vault-plugin-secrets-kv"
	"github.com/hashicorp/vault/builtin/credential/approle"
	"github.com/hashicorp/vault/builtin/credential/userpass"
	"github.com/hashicorp/vault/builtin/logical/database"
	"github.com/hashicorp/vault/helper/namespace"
	"github.com/hashicorp/vault/sdk/logical"
	"github.com/hashicorp/vault/sdk/physical/inmem"
	"github.com/hashicorp/vault/vault"
)

// mounts are the secret engines of a new server, and authMethods its ways to log in.
var (
	mounts = map[string]map[string]interface{}{
		"secret":   {"type": "kv", "options": map[string]interface{}{"version": "2"}},
		"kv1":      {"type": "kv", "options": map[string]interface{}{"version": "1"}},
		"database": {"type": "database"},
	}
	authMethods = map[string]logical.Factory{
		"approle":    approle.Factory,
		"jwt":        jwt.Factory,
		"kubernetes": kubernetes.Factory,
		"userpass":   userpass.Factory,
	}
)

type keys struct {
	root   string
	unseal string
}

// newCore makes a Vault in memory that says it is at url. It logs nothing, because what it logs is not what is tested.
func newCore(url string) (*vault.Core, error) {
	logger := hclog.NewNullLogger()
	storage, err := inmem.NewInmem(nil, logger)
	if err != nil {
		return nil, err
	}
	return vault.NewCore(&vault.CoreConfig{
		BuiltinRegistry:    registry{},
		CredentialBackends: authMethods,
		DisableMlock:       true,
		Logger:             logger,
		LogicalBackends:    map[string]logical.Factory{"kv": kv.Factory, "database": database.Factory},
		Physical:           storage,
		RedirectAddr:       url,
		StorageType:        "inmem",
	})
}

// start initializes and unseals core, and mounts what the tests expect.
func start(core *vault.Core, rootToken string) (keys, error) {
	ctx := namespace.ContextWithNamespace(context.Background(), namespace.RootNamespace)
	shares := &vault.SealConfig{SecretShares: 1, SecretThreshold: 1}
	initialized, err := core.Initialize(ctx, &vault.InitParams{BarrierConfig: shares})
	if err != nil {
		return keys{}, err
	}
	unseal := hex.EncodeToString(initialized.SecretShares[0])
	if unsealed, err := core.Unseal(initialized.SecretShares[0]); err != nil || !unsealed {
		return keys{}, errors.Join(errors.New("cannot unseal the new Vault"), err)
	}
	root := initialized.RootToken
	for name, options := range mounts {
		if err := write(ctx, core, root, "sys/mounts/"+name, options); err != nil {
			return keys{}, err
		}
	}
	for name := range authMethods {
		if err := write(ctx, core, root, "sys/auth/"+name, map[string]interface{}{"type": name}); err != nil {
			return keys{}, err
		}
	}
	if rootToken != "" {
		named := map[string]interface{}{"id": rootToken, "policies": []string{"root"}, "no_parent": true}
		if err := write(ctx, core, root, "auth/token/create", named); err != nil {
			return keys{}, err
		}
		root = rootToken
	}
	return keys{root, unseal}, nil
}

func write(ctx context.Context, core *vault.Core, token, path string, data map[string]interface{}) error {
	request := &logical.Request{Operation: logical.UpdateOperation, ClientToken: token, Path: path, Data: data}
	response, err := core.HandleRequest(ctx, request)
	if err == nil && response.IsError() {
		err = response.Error()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
