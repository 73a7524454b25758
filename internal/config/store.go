package config

import (
	"errors"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// Store has the location and the durability of the store.
type Store struct {
	DSN         string `yaml:"dsn" form:"store" flag:"store"`
	Direct      string `yaml:"direct" form:"store"`
	Sync        string `yaml:"sync" default:"normal" enum:"normal,full"`
	Connections int    `yaml:"connections" default:"16" min:"2" max:"1000"`
	Blobs       Blobs  `yaml:"blobs"`
}

// Blobs has the place of contents that are too large for a row of the store.
type Blobs struct {
	In        string `yaml:"in" enum:"files,database,s3"`
	Endpoint  string `yaml:"endpoint" form:"url"`
	Bucket    string `yaml:"bucket" form:"label"`
	Prefix    string `yaml:"prefix" form:"label"`
	Region    string `yaml:"region" form:"label"`
	PathStyle bool   `yaml:"path_style" default:"true"`
	AccessKey Secret `yaml:"access_key" form:"secret"`
	SecretKey Secret `yaml:"secret_key" form:"secret"`
}

// Places of blobs.
const (
	BlobsInFiles    = "files"
	BlobsInDatabase = "database"
	BlobsInS3       = "s3"
)

// Check finds settings that do not go together.
func (b Blobs) Check(add Add) {
	bucket := b.Endpoint != "" || b.Bucket != "" || b.AccessKey != "" || b.SecretKey != ""
	switch {
	case bucket && b.In != "" && b.In != BlobsInS3:
		add("in", "is %s, but there are settings of a bucket; set it to s3, or remove them", b.In)
	case !bucket && b.In != BlobsInS3:
	case b.Endpoint == "":
		add("endpoint", "is empty; set the URL of the S3 service")
	case b.Bucket == "":
		add("bucket", "is empty; set the name of the bucket")
	case b.AccessKey == "" || b.SecretKey == "":
		add("access_key", "and secret_key are both needed; store them with mcp-tools secrets set NAME")
	}
}

// Place returns where the blobs of a store with an engine are.
func (b Blobs) Place(engine string) string {
	switch {
	case b.In != "":
		return b.In
	case b.Bucket != "":
		return BlobsInS3
	case engine == "postgres":
		return BlobsInDatabase
	}
	return BlobsInFiles
}

// storeForm accepts locations of a store without a password: a password belongs neither into
// the file nor on the command line.
func storeForm() form {
	return form{
		words: "a directory, a URL such as postgres://user@host/database without a password, " +
			"or where such a URL is: " + secretWords,
		hide: true, pattern: `[^\x00-\x1f\x7f]+`, check: checkStore, settle: settleStore,
	}
}

var secretForm = text.Pattern("^(?:" + secretPattern + ")$")

func storeReference(text string) bool {
	return strings.Contains(text, ":") && secretForm().MatchString(text)
}

func postgresURL(text string) bool {
	return strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
}

func checkStore(text string) error {
	for _, where := range []string{"secret:", "env:", "file:", "command:"} {
		if strings.HasPrefix(text, where) && !storeReference(text) {
			return errors.New("not a reference")
		}
	}
	if postgresURL(text) {
		return withoutPassword(text)
	}
	if strings.Contains(text, "://") || strings.Contains(text, "password=") { // another kind of DSN
		return errors.New("not a directory")
	}
	return nil
}

// errPassword is shown although the text is not.
var errPassword = errors.New("a URL with a password cannot stand here, where other programs can read it; " +
	"store it with mcp-tools secrets set NAME, and write secret:NAME")

func withoutPassword(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return errors.New("not a URL")
	}
	_, has := u.User.Password()
	for name := range u.Query() {
		has = has || strings.Contains(strings.ToLower(name), "password")
	}
	if has {
		return errPassword
	}
	return nil
}

func settleStore(text string, at origin) (string, error) {
	switch {
	case storeReference(text):
		return settleSecret(text, at)
	case postgresURL(text):
		return text, nil
	}
	return settlePath(text, at)
}

// StorePlace reads a location of a store from the command line, in the form of the
// setting. Relative paths start at dir, those with a tilde at home.
func StorePlace(text, dir, home string) (Store, error) {
	if errors.Is(checkStore(text), errPassword) {
		return Store{}, errPassword
	}
	if text == "" || strings.ContainsFunc(
		text, func(r rune) bool { return r < ' ' || r == 0x7f },
	) || checkStore(text) != nil {
		// The text may be a secret, so the error does not repeat it.
		return Store{}, errors.New("what is accepted: " + storeForm().words)
	}
	place, err := settleStore(text, origin{dir, home})
	return Store{DSN: place}, err
}

// Place returns the location of the store: a directory, or a URL that may have a
// password. It is empty if none is set.
func (s Store) Place(from Sources) (string, error) { return place("store.dsn", s.DSN, from) }

// DirectPlace returns the URL of Direct, perhaps with a password. It is empty if none is set.
func (s Store) DirectPlace(from Sources) (string, error) {
	url, err := place("store.direct", s.Direct, from)
	if err == nil && url != "" && !postgresURL(url) {
		err = errors.New("store.direct: this is not a postgres:// URL")
	}
	return url, err
}

func place(setting, text string, from Sources) (string, error) {
	if !storeReference(text) {
		return text, nil
	}
	place, err := Secret(text).Fetch(from)
	if err != nil {
		return "", err
	}
	if place = strings.TrimSpace(place); !postgresURL(place) && !filepath.IsAbs(place) {
		return "", errors.New(
			setting + ": the secret is neither a postgres:// URL nor the whole path of a directory",
		)
	}
	return place, nil
}
