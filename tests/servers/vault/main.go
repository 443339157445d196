// Serves a Vault in memory to the tests.
//
// When it is ready it prints one line of JSON: where it is, its root token and the key that unseals it.
// It ends on SIGTERM, and when its standard input is closed, so that it does not outlive the tests.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	vaulthttp "github.com/hashicorp/vault/http"
	"github.com/hashicorp/vault/vault"
)

type ready struct {
	Address   string `json:"address"`
	RootToken string `json:"root_token"`
	UnsealKey string `json:"unseal_key"`
}

func main() {
	address := flag.String("address", "127.0.0.1:0", "where to listen; port 0 is a free one")
	rootToken := flag.String("root-token", "", "what the root token is; empty: Vault makes one")
	flag.Parse()
	if err := serve(*address, *rootToken); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(address, rootToken string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String()
	core, err := newCore(url)
	if err != nil {
		return err
	}
	keys, err := start(core, rootToken)
	if err != nil {
		return err
	}
	handler := vaulthttp.Handler.Handler(&vault.HandlerProperties{Core: core})
	failed := make(chan error, 1)
	go func() { failed <- http.Serve(listener, handler) }()
	if err := json.NewEncoder(os.Stdout).Encode(ready{url, keys.root, keys.unseal}); err != nil {
		return err
	}
	return wait(failed)
}

// wait returns when it is time to end, or with the error that ends the server.
func wait(failed <-chan error) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	closed := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(closed)
	}()
	select {
	case err := <-failed:
		return err
	case <-signals:
	case <-closed:
	}
	return nil
}
