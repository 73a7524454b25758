package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// S3Options describe a bucket.
type S3Options struct {
	Endpoint  string // URL of the service
	Bucket    string
	Prefix    string // of the names of objects
	Region    string
	PathStyle bool // the bucket is in the path of requests and not in the name of the host
	// Keys returns the access key and its secret.
	Keys func() (id, secret string, err error)
	// Transport sends the requests.
	Transport http.RoundTripper
	Timeout   time.Duration // of one request; 0: a minute
}

// S3 is a place in a bucket of an S3 service.
type S3 struct {
	o      S3Options
	client *minio.Client
}

// maxInBucket is the maximum size of a blob in S3, in bytes. It is sent in one request, from
// memory.
const maxInBucket = 256 << 20

// s3Attempts is the number of attempts of a request that fails temporarily.
const s3Attempts = 3

// NewS3 returns the place in a bucket. It sends nothing.
func NewS3(o S3Options) (*S3, error) {
	u, err := url.Parse(o.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" {
		return nil, fmt.Errorf("%q is not the URL of an S3 service, such as https://s3.example.com", o.Endpoint)
	}
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	lookup := minio.BucketLookupAuto
	if o.PathStyle {
		lookup = minio.BucketLookupPath
	}
	if o.Region == "" {
		o.Region = "us-east-1" // otherwise each process asks for it
	}
	client, err := minio.New(u.Host, &minio.Options{
		Creds: credentials.New(&keys{read: o.Keys}), Secure: u.Scheme == "https", Transport: o.Transport, Region: o.Region,
		BucketLookup: lookup, MaxRetries: s3Attempts,
	})
	if err != nil {
		return nil, err
	}
	return &S3{o, client}, nil
}

// keys are the credentials of the settings. They are read again after some minutes, so that they can be replaced.
type keys struct {
	credentials.Expiry
	read func() (id, secret string, err error)
}

func (k *keys) Retrieve() (credentials.Value, error) {
	id, secret, err := k.read()
	k.SetExpiration(time.Now().Add(keysValid), 0)
	return credentials.Value{AccessKeyID: id, SecretAccessKey: secret, SignerType: credentials.SignatureV4}, err
}

// RetrieveWithCredContext is Retrieve.
func (k *keys) RetrieveWithCredContext(*credentials.CredContext) (credentials.Value, error) {
	return k.Retrieve()
}

const keysValid = 5 * time.Minute

func (s *S3) String() string { return s.o.Endpoint + "/" + path.Join(s.o.Bucket, s.o.Prefix) }

// Max returns the maximum size of a content.
func (s *S3) Max() int64 { return maxInBucket }

func (s *S3) object(name string) string { return path.Join(s.o.Prefix, name) }

// Put stores a content, unless an object has the name.
func (s *S3) Put(ctx context.Context, name string, c Content) error {
	// A content of many megabytes takes longer than a small one.
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout+time.Duration(c.Size>>20)*time.Second)
	defer cancel()
	o := minio.PutObjectOptions{
		ContentType: "application/octet-stream", DisableMultipart: true, DisableContentSha256: true, // it is given below
	}
	o.SetMatchETagExcept("*")
	// With the digest the body is sent as it is. Otherwise it is in signed chunks over http, and some services return
	// the objects with the encoding of the chunks, and no client can decode it.
	sum := sha256.New()
	if _, err := io.Copy(sum, c.Reader()); err != nil {
		return err
	}
	_, err := minio.Core{Client: s.client}.PutObject(ctx, s.o.Bucket, s.object(name), c.Reader(), c.Size, "",
		hex.EncodeToString(sum.Sum(nil)), o)
	if minio.ToErrorResponse(err).StatusCode == http.StatusPreconditionFailed {
		return nil
	}
	return s.failed("storing", err)
}

// Open returns a part of a content.
func (s *S3) Open(ctx context.Context, name string, offset, n int64) (io.ReadCloser, error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	if n <= 0 {
		cancel()
		return http.NoBody, nil
	}
	var o minio.GetObjectOptions
	err := o.SetRange(offset, offset+n-1)
	if err != nil {
		cancel()
		return nil, err
	}
	body, _, _, err := minio.Core{Client: s.client}.GetObject(ctx, s.o.Bucket, s.object(name), o)
	if err != nil {
		cancel()
		if minio.ToErrorResponse(err).StatusCode == http.StatusRequestedRangeNotSatisfiable {
			return http.NoBody, nil
		}
		return nil, s.failed("reading", err)
	}
	return &s3Body{body, cancel, s}, nil
}

// An s3Body is a part of an object.
type s3Body struct {
	io.ReadCloser
	cancel func()
	s      *S3
}

func (b *s3Body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = b.s.failed("reading", err)
	}
	return n, err
}

func (b *s3Body) Close() error {
	b.cancel()
	_ = b.ReadCloser.Close() // it was read only
	return nil
}

// Delete removes objects.
func (s *S3) Delete(ctx context.Context, names ...string) error {
	for _, name := range names {
		one, cancel := context.WithTimeout(ctx, s.o.Timeout)
		err := s.client.RemoveObject(one, s.o.Bucket, s.object(name), minio.RemoveObjectOptions{})
		cancel()
		if err = s.failed("removing", err); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Each calls yield with names.
func (s *S3) Each(ctx context.Context, before string, yield func(names []string) error) error {
	prefix := s.o.Prefix
	if prefix != "" {
		prefix = strings.TrimSuffix(prefix, "/") + "/"
	}
	var list []string
	for object := range s.client.ListObjectsIter(ctx, s.o.Bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if object.Err != nil {
			return s.failed("listing", object.Err)
		}
		name := strings.TrimPrefix(object.Key, prefix)
		if day, _, _ := strings.Cut(name, "/"); isDay(day) && name < before {
			list = append(list, name)
		}
		if len(list) == listed {
			if err := yield(list); err != nil {
				return err
			}
			list = nil
		}
	}
	if err := ctx.Err(); err != nil || len(list) == 0 {
		return err
	}
	return yield(list)
}

// failed returns the error of a request, or nil.
func (s *S3) failed(doing string, err error) error {
	if err == nil {
		return nil
	}
	answer := minio.ToErrorResponse(err)
	if answer.StatusCode == http.StatusNotFound && answer.Code != minio.NoSuchBucket {
		return fmt.Errorf("%s a blob in %s: %w", doing, s, fs.ErrNotExist)
	}
	full := answer.StatusCode == http.StatusInsufficientStorage || answer.Code == "QuotaExceeded" ||
		answer.Code == "XMinioStorageFull"
	return &failure{fmt.Errorf("%s a blob in %s: %w", doing, s, err), full}
}
