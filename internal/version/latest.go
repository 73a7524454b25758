package version

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
)

// Latest is the newest release, compared with this program.
type Latest struct {
	Current string `json:"current"`
	Latest  string `json:"latest"`
	URL     string `json:"url,omitempty"`
	Newer   bool   `json:"newer"`
}

// AskLatest asks a URL for the newest release, and compares it with the program. The response is that of GitHub's
// releases/latest, of which tag_name and html_url are used.
func AskLatest(ctx context.Context, client outbound.Client, from string) (Latest, error) {
	return askLatest(ctx, client, from, String())
}

func askLatest(ctx context.Context, client outbound.Client, from, current string) (Latest, error) {
	answer, err := client.Do(ctx, outbound.Request{
		URL: from, Header: http.Header{"Accept": {"application/json"}}, Redirects: 5, MaxBytes: 1 << 20,
	})
	if err != nil {
		return Latest{}, err
	}
	defer answer.Body.Close()
	if answer.Status != http.StatusOK {
		return Latest{}, fmt.Errorf("%s answers with the status %d; check upgrade.url", from, answer.Status)
	}
	var release struct {
		Tag string `json:"tag_name"`
		URL string `json:"html_url"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&release); err != nil {
		return Latest{}, fmt.Errorf("the answer of %s is no release: %w", from, err)
	}
	latest := cmp.Or(release.Tag, "(none)")
	if !strings.HasPrefix(latest, "v") {
		latest = "v" + latest
	}
	if !semver.IsValid(latest) {
		return Latest{}, fmt.Errorf("the answer of %s has no tag_name with a version; check upgrade.url", from)
	}
	// A program that was built from a checkout without tags is older than every release.
	return Latest{current, latest, release.URL, semver.Compare(latest, current) > 0}, nil
}
