package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/store"
)

// StoreOptions returns the location and the limits of the store of the settings.
func (e *Env) StoreOptions(c Settings, log *slog.Logger) (store.Options, error) {
	bootstrap := e.sources(c, e.bootstrapVault)
	dsn, err := c.Store.Place(bootstrap)
	if err != nil {
		return store.Options{}, err
	}
	if dsn == "" {
		if dsn, err = e.DataDir(); err != nil {
			return store.Options{}, err
		}
		if err := checkPrivate(dsn); err != nil {
			return store.Options{}, err
		}
	}
	direct, err := c.Store.DirectPlace(bootstrap)
	return store.Options{
		DSN: dsn, Direct: direct, Full: c.Store.Sync == "full", Connections: c.Store.Connections, Log: log,
	}, err
}

// OpenStore opens the store of the settings, and makes it if it does not exist.
func (e *Env) OpenStore(ctx context.Context) (*store.Store, error) {
	o, err := e.LoadStoreOptions()
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, o)
}

func (e *Env) LoadStoreOptions() (store.Options, error) {
	loaded, err := e.Load()
	if err != nil {
		return store.Options{}, err
	}
	return e.StoreOptions(loaded.Config, nil)
}

// WithStore passes the store of the settings to use, and closes it. It is opened
// when it is first needed.
func (e *Env) WithStore(use func(*store.Store) error) error {
	o, err := e.LoadStoreOptions()
	if err != nil {
		return err
	}
	s, err := store.OpenLazy(o)
	if err != nil {
		return err
	}
	return errors.Join(use(s), s.Close())
}

// StorePlace returns the location of the store, without a password.
func (e *Env) StorePlace() (place string, err error) {
	err = e.WithStore(func(s *store.Store) error {
		place = s.Location()
		return nil
	})
	return place, err
}

// StoreOptionsAt returns the options of the store that text names, in the form of
// the setting store.dsn.
func (e *Env) StoreOptionsAt(text string) (store.Options, error) {
	loaded, err := e.Load()
	if err != nil {
		return store.Options{}, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return store.Options{}, err
	}
	c := loaded.Config
	place, err := config.StorePlace(text, dir, cmp.Or(e.Getenv("HOME"), e.Getenv("USERPROFILE")))
	if err != nil {
		return store.Options{}, Usagef("this is not the location of a store; %w", err)
	}
	c.Store.DSN, c.Store.Direct = place.DSN, ""
	return e.StoreOptions(c, nil)
}

// WithAuditLog opens the audit log for use, after copying the journals of killed processes to the store. If there is no
// store yet and nothing to copy, use gets nil and no store is made.
func (e *Env) WithAuditLog(ctx context.Context, use func(*audit.DB) error) error {
	o, err := e.LoadStoreOptions()
	if err != nil {
		return err
	}
	dir, err := e.DataDir()
	if err != nil {
		return err
	}
	if store.Missing(o.DSN) && !audit.Waiting(dir) {
		return use(nil)
	}
	s, err := store.Open(ctx, o)
	if err != nil {
		return err
	}
	err = e.RecoverAuditLog(ctx, s)
	if err == nil {
		err = use(audit.NewDB(s))
	}
	return errors.Join(err, s.Close())
}

// RecoverAuditLog copies the journals of killed processes to the store. If that
// fails it prints a message and returns nil: the records in the store can still
// be read.
func (e *Env) RecoverAuditLog(ctx context.Context, s *store.Store) error {
	dir, err := e.DataDir()
	if err != nil {
		return err
	}
	note, err := audit.NewDB(s).Collect(ctx, dir)
	if note != "" {
		fmt.Fprintln(e.Err, note)
	}
	return err
}
