package version

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aead.dev/minisign"
	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/netaddr"
)

// newLookup returns a lookup at a server with files, by their paths.
func newLookup(t *testing.T, files map[string]string) Lookup {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, found := files[r.URL.Path]
		if !found {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, text)
	}))
	t.Cleanup(srv.Close)
	client, err := egress.NewClient(egress.ClientOptions{
		Rules: func(string) (egress.Rules, error) {
			return egress.Rules{AllowPrivate: []string{netaddr.OfURL(srv.URL)}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return Lookup{Client: client, URL: srv.URL + "/latest.json"}
}

func TestLatestRelease(t *testing.T) {
	look := newLookup(t, map[string]string{
		"/latest.json": `{"tag_name": "v99.1.0", "html_url": "https://host.example.com/v99.1.0", "assets": []}`,
		"/page":        "<html>", "/other": `{"name": "something"}`,
	})
	got, err := look.Ask(t.Context())
	want := Latest{Current: String(), Latest: "v99.1.0", URL: "https://host.example.com/v99.1.0", Newer: true}
	if err != nil || cmp.Diff(got, want) != "" {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	for current, newer := range map[string]bool{
		"v99.0.0": true, "v99.1.0": false, "v99.2.0-rc.1": false, "dev-0123456789ab": true,
		"v0.0.0-20261123040000-0123456789ab+dirty": true,
	} {
		got, err := look.ask(t.Context(), current, "")
		if err != nil || got.Newer != newer {
			t.Errorf("%s: %+v, %v; want newer %v", current, got, err, newer)
		}
	}
	base := strings.TrimSuffix(look.URL, "/latest.json")
	for path, want := range map[string]string{"/page": "is no release", "/other": "has no tag_name", "/missing": "the status 404"} {
		look.URL = base + path
		if _, err := look.Ask(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", path, err, want)
		}
	}
}

func TestSignature(t *testing.T) {
	public, private, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	otherPublic, otherPrivate, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	const name, content = "mcp-tools_99.1.0_linux_amd64.tar.gz", "the archive"
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	changed := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(changed, []byte("another archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	renamed := filepath.Join(t.TempDir(), "amd64.tar.gz")
	if err := os.Link(file, renamed); err != nil {
		t.Fatal(err)
	}
	sums := fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(content)), name)
	signed := func(key minisign.PrivateKey, text, comment string) string {
		return string(minisign.SignWithComments(key, []byte(text), comment, "of a test"))
	}
	good := signed(private, sums, "mcp-tools v99.1.0")
	_, otherComment, _ := strings.Cut(signed(private, sums, "mcp-tools v1.0.0"), "trusted comment: ")
	for _, c := range []struct {
		name, key, sums, signature string
		files                      []string
		want                       string // of the error
	}{
		{name: "right", key: public.String(), sums: sums, signature: good, files: []string{file}},
		{"without a key", "", sums, good, nil, ""},
		{"files without a key", "", sums, good, []string{file}, "set upgrade.public_key"},
		{"no key", "RW", sums, good, nil, "no public key of minisign"},
		{"wrong key", otherPublic.String(), sums, good, nil, "is not made with the key"},
		{"signed with another key", public.String(), sums, signed(otherPrivate, sums, "mcp-tools v99.1.0"), nil, "is not made with the key"},
		{"changed checksums", public.String(), strings.Replace(sums, "amd64", "arm64", 1), good, nil, "were changed"},
		{"changed file", public.String(), sums, good, []string{changed}, "the content is not that of the file of the release v99.1.0"},
		{"part of a name", public.String(), sums, good, []string{renamed}, "not the name of a file"},
		{"no file", public.String(), sums, good, []string{file + "x"}, "no such file"},
		{"missing signature", public.String(), sums, "", nil, "status 404"},
		{"no signature", public.String(), sums, "<html>", nil, "cannot be read"},
		{"checksums of another release", public.String(), sums, signed(private, sums, "mcp-tools v1.0.0"), nil, "not of the release v99.1.0"},
		{"comment of another signature", public.String(), sums, strings.Split(good, "trusted")[0] + "trusted comment: " + otherComment +
			"x", nil, "do not install it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{"/SHA256SUMS": c.sums, "/SHA256SUMS.minisig": c.signature,
				"/latest.json": `{"tag_name": "v99.1.0", "assets": [{"name": "SHA256SUMS", "browser_download_url": "SHA256SUMS"},
					{"name": "SHA256SUMS.minisig", "browser_download_url": "SHA256SUMS.minisig"}]}`}
			if c.signature == "" {
				delete(files, "/SHA256SUMS.minisig")
			}
			look := newLookup(t, files)
			look.Key, look.Files = c.key, c.files
			got, err := look.Ask(t.Context())
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) || len(got.Files) > 0 {
					t.Errorf("%+v, %v; want %q", got, err, c.want)
				}
				return
			}
			if err != nil || got.Signed != (c.key != "") || cmp.Diff(got.Files, c.files) != "" {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	t.Run("not listed", func(t *testing.T) {
		look := newLookup(t, map[string]string{"/latest.json": `{"tag_name": "v99.1.0"}`})
		look.Key = public.String()
		if _, err := look.Ask(t.Context()); err == nil || !strings.Contains(err.Error(), "is not signed") {
			t.Errorf("%v", err)
		}
	})
}
