package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/store"
)

// storeOptions say where the store is that the settings describe.
func (a *app) storeOptions(c config.Config, log *slog.Logger) (store.Options, error) {
	dsn, err := c.Store.Place(a.sources(c.Vault))
	if err != nil {
		return store.Options{}, err
	}
	if dsn == "" {
		if dsn, err = a.dataDir(); err != nil {
			return store.Options{}, err
		}
		if err := checkPrivate(dsn); err != nil {
			return store.Options{}, err
		}
	}
	most := store.MemoryLimits{Documents: int64(c.Memory.MaxDocuments), Bytes: int64(c.Memory.MaxBytes)}
	return store.Options{DSN: dsn, Full: c.Store.Sync == "full", Memory: most, Log: log}, nil
}

// openStore opens the store that the settings describe, and makes it if need be.
func (a *app) openStore(ctx context.Context) (*store.Store, error) {
	o, err := a.loadStoreOptions()
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, o)
}

func (a *app) loadStoreOptions() (store.Options, error) {
	loaded, err := a.load()
	if err != nil {
		return store.Options{}, err
	}
	return a.storeOptions(loaded.Config, nil)
}

// withStore gives the store that the settings describe for one use. It is not
// opened before it is asked for something. unused reports that it certainly has
// nothing yet, since there is none.
func (a *app) withStore(use func(s *store.Store, unused func() bool) error) error {
	o, err := a.loadStoreOptions()
	if err != nil {
		return err
	}
	s, err := store.Later(o)
	if err != nil {
		return err
	}
	return errors.Join(use(s, neverUsed(s, o)), s.Close())
}

// storePlace is where the store is, fit to be shown.
func (a *app) storePlace() (place string, err error) {
	err = a.withStore(func(s *store.Store, _ func() bool) error {
		place = s.Place()
		return nil
	})
	return place, err
}

// neverUsed reports whether nobody has ever asked anything of a store.
func neverUsed(s *store.Store, o store.Options) func() bool {
	return func() bool { return !s.InUse() && store.Missing(o.DSN) }
}

// openExisting opens the store that the settings describe, if it is there.
func (a *app) openExisting(ctx context.Context) (*store.Store, error) {
	o, err := a.loadStoreOptions()
	if err != nil {
		return nil, err
	}
	if store.Missing(o.DSN) {
		return nil, fmt.Errorf("there is no store in %s yet; a server makes it, or mcp-tools store restore", o.DSN)
	}
	return store.Open(ctx, o)
}

// storeElsewhere says where a store is that an argument names, in the way of
// the setting.
func (a *app) storeElsewhere(text string) (store.Options, error) {
	loaded, err := a.load()
	if err != nil {
		return store.Options{}, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return store.Options{}, err
	}
	c := loaded.Config
	place, err := config.StorePlace(text, dir, cmp.Or(a.getenv("HOME"), a.getenv("USERPROFILE")))
	if err != nil {
		return store.Options{}, usagef("that is no place for a store; %w", err)
	}
	c.Store.DSN = place.DSN
	return a.storeOptions(c, nil)
}
