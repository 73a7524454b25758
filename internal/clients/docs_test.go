package clients

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documented are the servers that docs/clients.md shows.
func documented(c Client) (local, remote Server) {
	local = Server{
		Name: "mcp-tools", Command: "/usr/local/bin/mcp-tools",
		Args: []string{"--profile", "coding", "--workspace", "/home/you/project"},
	}
	remote = Server{Name: "mcp-tools", URL: "https://host/mcp/coding", TokenEnv: "MCP_TOOLS_TOKEN"}
	if c.shape.tokenRef == "" && c.shape.tokenKey == "" {
		remote.TokenEnv, remote.Headers = "", map[string]string{"Authorization": "Bearer TOKEN"}
	}
	return local, remote
}

// TestDocumentation compares the page with the code, client by client.
func TestDocumentation(t *testing.T) {
	page, err := os.ReadFile(filepath.FromSlash("../../docs/clients.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n")
	for i, c := range All() {
		section := regexp.MustCompile(`(?s)\n###? ` + c.Title + `\n(.*?)\n##`).FindString(text)
		row := regexp.MustCompile(`(?m)^\| ` + c.Title + ` \| .*$`).FindString(text)
		path := c.Path(Env{Home: "~", GOOS: "linux"})
		for _, want := range []string{"`" + c.Name + "`", "`" + path + "`", "`" + c.project + "`"} {
			if want != "``" && !strings.Contains(row, want) {
				t.Errorf("the table's row of %s lacks %s", c.Title, want)
			}
		}
		command := "`mcp-tools connect " + c.Name
		if c.Anywhere {
			command += " --workspace ~/src"
		}
		if !strings.Contains(section, command+"`") {
			t.Errorf("the section of %s lacks its command", c.Title)
		}
		if i > slices.IndexFunc(All(), func(c Client) bool { return c.Name == "zed" }) {
			if !strings.Contains(section, c.Check) {
				t.Errorf("the section of %s does not say how to check the connection", c.Title)
			}
			continue // print-config prints the entries of those after Zed
		}
		local, remote := documented(c)
		for _, s := range []Server{local, remote} {
			snippet, err := c.Render(s)
			if err != nil && (s.URL == "" || c.shape.url != "") {
				t.Errorf("%s: %v", c.Title, err)
			}
			if !strings.Contains(section, string(snippet)+"```") {
				t.Errorf("the section of %s lacks:\n%s", c.Title, snippet)
			}
		}
	}
}
