package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"

	"github.com/mcp-tools/mcp-tools/internal/api"
	"github.com/mcp-tools/mcp-tools/internal/blob"
	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/tools/results"
)

// openBlobs opens the store of large contents, and the results that were too long for the
// model.
func (a *App) openBlobs(context.Context) (err error) {
	var closing func() error
	if a.blobs, closing, err = a.env.Blobs(a.loaded.Config, a.store, a.log); err != nil {
		return err
	}
	a.onClose(closing)
	a.maskBlobs()
	a.sweepBlobs = a.blobs.Sweeps(a.jobs)
	a.results = results.New(a.blobs, a.data, blob.Limits{
		Count: maxResults, Bytes: maxResultsBytes, All: maxAllResultsBytes,
		Item: maxResultsBytes, // the server cuts before
	})
	return nil
}

// maskBlobs masks the keys of the bucket.
func (a *App) maskBlobs() {
	b := a.loaded.Config.Store.Blobs
	for name, secret := range map[string]config.Secret{"access_key": b.AccessKey, "secret_key": b.SecretKey} {
		if value, err := fetchIfSet(secret, a.env.Sources(a.loaded.Config)); err == nil {
			a.mask("store.blobs."+name, value)
		}
	}
}

func fetchIfSet(s config.Secret, from config.Sources) (string, error) {
	if s == "" {
		return "", nil
	}
	return s.Fetch(from)
}

// Blobs returns the large contents of a store, in the place of the settings. Nothing is read or sent yet. closing ends
// its connections.
func (e *Env) Blobs(c Settings, s *store.Store, log *slog.Logger) (b *blob.Blobs, closing func() error, err error) {
	closing = func() error { return nil }
	data, err := e.DataDir()
	if err != nil {
		return nil, closing, err
	}
	dir := filepath.Join(data, "blobs")
	if s.Engine() == "sqlite" { // beside the store: several data directories may share it
		dir = filepath.Join(filepath.Dir(s.Location()), "blobs")
	}
	var place blob.Place
	switch in := c.Store.Blobs.Place(s.Engine()); in {
	case config.BlobsInFiles:
		place = blob.NewFiles(dir)
	case config.BlobsInDatabase:
		place = blob.NewDatabase(s)
	default:
		if place, closing, err = e.bucket(c); err != nil {
			return nil, closing, fmt.Errorf("store.blobs: %w", err)
		}
	}
	keys, err := e.Vault(c)
	if err != nil {
		return nil, closing, errors.Join(err, closing())
	}
	return blob.New(blob.Options{
		Store: s, Place: place, Scratch: filepath.Join(dir, "tmp"), Sealer: keys, Log: log,
	}), closing, nil
}

// bucket returns the place in a bucket. Requests go through the egress rules for services of the operator.
func (e *Env) bucket(c Settings) (place blob.Place, closing func() error, err error) {
	b := c.Store.Blobs
	web, err := ServiceClient(c, egress.Limits{}, b.Endpoint)
	if err != nil {
		return nil, func() error { return nil }, err
	}
	keep := func(r *http.Request, _ string) {} // requests are signed by the library
	service, err := api.New(api.Options{Name: "the S3 service", URL: b.Endpoint, HTTP: web, Attach: keep,
		MaxBytes: maxS3Response})
	if err != nil {
		return nil, web.Close, err
	}
	place, err = blob.NewS3(blob.S3Options{
		Endpoint: b.Endpoint, Bucket: b.Bucket, Prefix: b.Prefix, Region: b.Region, PathStyle: b.PathStyle,
		Transport: service.HTTP().Transport,
		Keys: func() (id, secret string, err error) {
			from := e.Sources(c)
			id, err = fetchIfSet(b.AccessKey, from)
			secret, secretErr := fetchIfSet(b.SecretKey, from)
			return id, secret, errors.Join(err, secretErr)
		},
	})
	return place, web.Close, err
}

// maxS3Response is the maximum size of a response of an S3 service, in bytes: a chunk, or a page of a list.
const maxS3Response = 4 << 20
