package blob_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/blob"
	"github.com/mcp-tools/mcp-tools/internal/blob/s3test"
)

func newS3(t *testing.T) (*s3test.Server, *blob.S3) {
	t.Helper()
	fake := new(s3test.Server)
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	return fake, s3At(t, server.URL, 5*time.Second)
}

// s3At returns the place in a fake server.
func s3At(t *testing.T, url string, patience time.Duration) *blob.S3 {
	t.Helper()
	place, err := blob.NewS3(blob.S3Options{
		Endpoint: url, Bucket: s3test.Bucket, Prefix: "mcp", PathStyle: true, Timeout: patience,
		Keys: func() (string, string, error) { return s3test.Key, s3test.Secret, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return place
}
