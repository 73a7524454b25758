package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/golden"
)

// A button is a link that adds the server to a client: for web pages, which refuse
// schemes that are not theirs, and as the client itself takes it.
type button struct{ client, web, direct string }

func buttons() []button {
	encode := func(args ...string) string {
		text, _ := json.Marshal(struct {
			Name    string   `json:"name,omitempty"`
			Command string   `json:"command"`
			Args    []string `json:"args,omitempty"`
		}{"", "mcp-tools", args}) // strings can be encoded
		return string(text)
	}
	inFolder := encode("--workspace", "${workspaceFolder}")
	named := `{"name":"mcp-tools",` + strings.TrimPrefix(inFolder, "{")
	query := func(config string) string {
		return "?name=mcp-tools&config=" + url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(config)))
	}
	return []button{
		{"VS Code", "https://insiders.vscode.dev/redirect/mcp/install?name=mcp-tools&config=" + url.QueryEscape(inFolder),
			"vscode:mcp/install?" + url.QueryEscape(named)},
		{"Cursor", "https://cursor.com/en/install-mcp" + query(inFolder),
			"cursor://anysphere.cursor-deeplink/mcp/install" + query(inFolder)},
		{"LM Studio", "https://lmstudio.ai/install-mcp" + query(encode()), "lmstudio://add_mcp" + query(encode())},
	}
}

func TestGoldenButtons(t *testing.T) {
	var web []string
	var direct strings.Builder
	direct.WriteString("\n")
	for _, b := range buttons() {
		web = append(web, fmt.Sprintf("[**Add to %s**](%s)", b.client, b.web))
		fmt.Fprintf(&direct, "- %s: `%s`\n", b.client, b.direct)
	}
	golden.CheckPart(t, filepath.Join("..", "..", "README.md"), "buttons", "\n"+strings.Join(web, " ·\n")+"\n")
	golden.CheckPart(t, filepath.Join("..", "..", "docs", "start", "desktop.md"), "links", direct.String())
}

// TestButtonsDecode reads the links of the pages as the clients do.
func TestButtonsDecode(t *testing.T) {
	links := regexp.MustCompile(`(?:https://[\w.]+/[\w/-]*install[\w-]*|vscode:mcp/install|cursor://[\w./-]+|lmstudio://\w+)\?[^)` +
		"`" + `\s]+`)
	found := 0
	for _, page := range []string{"README.md", "docs/start/desktop.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range links.FindAllString(string(text), -1) {
			found++
			_, query, _ := strings.Cut(link, "?")
			config, err := url.QueryUnescape(query)
			if values, bad := url.ParseQuery(query); values.Has("config") && bad == nil {
				config = values.Get("config")
				if values.Get("name") != "mcp-tools" {
					t.Errorf("%s: %s names no server", page, link)
				}
				if decoded, notBase64 := base64.StdEncoding.DecodeString(config); notBase64 == nil {
					config = string(decoded)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			var entry struct {
				Command string
				Args    []string
			}
			if err := json.Unmarshal([]byte(config), &entry); err != nil {
				t.Fatalf("%s: %s: %v", page, link, err)
			}
			if entry.Command != "mcp-tools" || len(entry.Args) > 0 && !slices.Equal(entry.Args, []string{"--workspace", "${workspaceFolder}"}) {
				t.Errorf("%s: %s starts %+v", page, link, entry)
			}
		}
	}
	if found != 2*len(buttons()) {
		t.Errorf("found %d links, want two for each client", found)
	}
}
