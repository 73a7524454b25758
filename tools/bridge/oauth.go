package bridge

import (
	"context"
	"net/http"
)

// Vault keeps the tokens of logins.
type Vault interface {
	Get(name string) ([]byte, error)
	Set(ctx context.Context, name string, value []byte) error
	Remove(ctx context.Context, name string) error
}

func (b *Bridge) transport(_ string, s Server) (http.RoundTripper, error) { return b.o.Transport(s) }

func (b *Bridge) forgetLogin(string) error { return nil }
