package blob

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/vault"
)

const (
	sweepEvery = 3 * time.Hour
	// maxDatabase is the size of all blobs in the database that causes a warning to operators.
	maxDatabase = 20 << 30
)

// Sweeps returns the job that calls Sweep, for one process on the store at a time.
func (b *Blobs) Sweeps(loop *jobs.Loop) *jobs.Queue {
	return &jobs.Queue{
		Store: b.o.Store, Loop: loop, Kind: "sweep blobs", Every: sweepEvery, Always: true, Log: b.o.Log,
		Do: func(ctx context.Context, _ *jobs.Held) (string, error) { return "", b.Sweep(ctx) },
	}
}

// Sweep removes contents of shelves that are too old or too many, and then the blobs of former days without a
// row: blobs of killed processes and of removed rows.
func (b *Blobs) Sweep(ctx context.Context) error {
	b.mu.Lock()
	shelves := slices.Clone(b.shelves)
	b.mu.Unlock()
	var errs []error
	for _, s := range shelves {
		errs = append(errs, s.expire(ctx), s.shrink(ctx))
	}
	// A blob of yesterday may be some seconds old.
	before := Day(b.o.Now().Add(-dayDuration))
	errs = append(errs, b.o.Place.Each(ctx, before, func(names []string) error {
		unused, err := b.unused(ctx, names)
		if err != nil || len(unused) == 0 {
			return err
		}
		return b.o.Place.Delete(ctx, unused...)
	}))
	if _, ok := b.o.Place.(*Database); ok {
		var bytes int64
		if err := b.o.Store.Row(ctx, `SELECT coalesce(sum(size), 0) FROM kept`, nil, &bytes); err != nil {
			errs = append(errs, err)
		} else if bytes > maxDatabase {
			b.o.Log.Warn("the database has very many large contents; store.blobs can be a bucket of an S3 service",
				"bytes", bytes)
		}
	}
	return errors.Join(errs...)
}

// Sealed returns the blobs that a reset of the vault loses.
func Sealed() vault.Dependents {
	const where = " FROM kept WHERE blob LIKE '%" + sealedMark + "%'"
	return vault.Dependents{
		Lost: func(ctx context.Context, s *store.Store) (string, error) {
			n := 0
			err := s.Row(ctx, "SELECT count(*)"+where, nil, &n)
			if err != nil || n == 0 {
				return "", err
			}
			return text.Plural(n, "long result or former version of a file", "long results and former versions of files"), nil
		},
		Forget: func(t *store.Tx) error {
			_, err := t.Exec("DELETE" + where)
			return err
		},
	}
}

// unused returns the names that no row refers to.
func (b *Blobs) unused(ctx context.Context, names []string) ([]string, error) {
	var unused []string
	for part := range slices.Chunk(names, listed) {
		var args []any
		in := store.In(&args, part)
		used, err := store.Select(ctx, b.o.Store, "SELECT DISTINCT blob FROM kept WHERE blob IN ("+in+")", args,
			store.One[string])
		if err != nil {
			return nil, err
		}
		slices.Sort(used)
		for _, name := range part {
			if _, found := slices.BinarySearch(used, name); !found {
				unused = append(unused, name)
			}
		}
	}
	return unused, nil
}
