package version

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aead.dev/minisign"
	"golang.org/x/mod/semver"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
)

// publicKey is the minisign public key of the releases. make release sets it in the programs of a
// release that is signed.
var publicKey = ""

// A Lookup looks for the newest release.
type Lookup struct {
	Client outbound.Client
	// URL answers as GitHub's releases/latest does: tag_name, html_url and assets are used.
	URL string
	// Key is the minisign public key of the releases, "" for the one that is built in.
	Key string
	// Files are files of the newest release on this machine, whose digests are checked.
	Files []string
}

// Latest is the newest release, compared with this program.
type Latest struct {
	Current string `json:"current"`
	Latest  string `json:"latest"`
	URL     string `json:"url,omitempty"`
	Newer   bool   `json:"newer"`
	// Signed reports whether the checksums of the release have a valid signature. It is false only if
	// there is no key to check it.
	Signed bool     `json:"signed"`
	Files  []string `json:"files,omitempty"` // files that are those of the release
}

// Ask asks for the newest release and compares it with the program. With a key, it is an error if the
// checksums of the release have no valid signature, or a file has another digest.
func (l Lookup) Ask(ctx context.Context) (Latest, error) {
	return l.ask(ctx, String(), cmp.Or(l.Key, publicKey))
}

func (l Lookup) ask(ctx context.Context, current, key string) (Latest, error) {
	text, err := l.get(ctx, l.URL)
	if err != nil {
		return Latest{}, err
	}
	var release struct {
		Tag    string `json:"tag_name"`
		URL    string `json:"html_url"`
		Assets []struct {
			Name string `json:"name"`
			URL  string `json:"browser_download_url"`
		} `json:"assets"`
	}
	if err := json.Unmarshal(text, &release); err != nil {
		return Latest{}, fmt.Errorf("the answer of %s is no release: %w", l.URL, err)
	}
	latest := cmp.Or(release.Tag, "(none)")
	if !strings.HasPrefix(latest, "v") {
		latest = "v" + latest
	}
	if !semver.IsValid(latest) {
		return Latest{}, fmt.Errorf("the answer of %s has no tag_name with a version; check upgrade.url", l.URL)
	}
	// A program that was built from a checkout without tags is older than every release.
	found := Latest{Current: current, Latest: latest, URL: release.URL, Newer: semver.Compare(latest, current) > 0}
	if key == "" {
		if len(l.Files) > 0 {
			return found, errors.New("files cannot be checked: this program has no public key of the releases; " +
				"set upgrade.public_key")
		}
		return found, nil
	}
	var parts [2][]byte
	for i, name := range []string{"SHA256SUMS", "SHA256SUMS.minisig"} {
		var at string
		for _, a := range release.Assets {
			if a.Name == name {
				at = a.URL
			}
		}
		if at == "" {
			return found, fmt.Errorf("the release %s is not signed: it has no %s", latest, name)
		}
		if parts[i], err = l.get(ctx, at); err != nil {
			return found, fmt.Errorf("the signature of the release %s cannot be checked: %w", latest, err)
		}
	}
	sums := parts[0]
	if err := verify(key, latest, sums, parts[1]); err != nil {
		return found, err
	}
	found.Signed = true
	for _, file := range l.Files {
		if err := checkDigest(file, sums); err != nil {
			return found, fmt.Errorf("%s: %w of the release %s", file, err, latest)
		}
		found.Files = append(found.Files, file)
	}
	return found, nil
}

// get fetches an URL, which may be relative to that of the lookup.
func (l Lookup) get(ctx context.Context, from string) ([]byte, error) {
	base, err := url.Parse(l.URL)
	if err != nil {
		return nil, err
	}
	at, err := base.Parse(from)
	if err != nil {
		return nil, err
	}
	answer, err := l.Client.Do(ctx, outbound.Request{
		URL: at.String(), Header: http.Header{"Accept": {"application/json, */*"}}, Redirects: 5, MaxBytes: 1 << 20,
	})
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.Status != http.StatusOK {
		return nil, fmt.Errorf("%s answers with the status %d; check upgrade.url", at, answer.Status)
	}
	return io.ReadAll(answer.Body)
}

// verify checks the signature of checksums. Its trusted comment names the version, so that checksums of
// another release are refused.
func verify(key, version string, sums, signature []byte) error {
	var public minisign.PublicKey
	if err := public.UnmarshalText([]byte(key)); err != nil {
		return fmt.Errorf("upgrade.public_key is no public key of minisign: %w", err)
	}
	var parts minisign.Signature
	switch {
	case parts.UnmarshalText(signature) != nil:
		return fmt.Errorf("the signature of the release %s cannot be read; do not install it", version)
	case !minisign.Verify(public, sums, signature):
		return fmt.Errorf("the signature of the release %s is not made with the key %s, or its checksums were changed; "+
			"do not install it", version, public)
	case parts.TrustedComment != "mcp-tools "+version:
		return fmt.Errorf("the signature is one of %q and not of the release %s; do not install it", parts.TrustedComment, version)
	}
	return nil
}

// checkDigest compares a file with checksums in the format of sha256sum.
func checkDigest(file string, sums []byte) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return err
	}
	name := "  " + filepath.Base(file)
	lines := strings.Split(string(sums), "\n")
	listed := slices.IndexFunc(lines, func(line string) bool { return strings.HasSuffix(line, name) && len(line) == 64+len(name) })
	switch {
	case listed < 0:
		return errors.New("this is not the name of a file")
	case lines[listed][:64] != hex.EncodeToString(hash.Sum(nil)):
		return errors.New("the content is not that of the file")
	}
	return nil
}
