package main

import (
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

const monitoring = "../../docs/monitoring/"

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// scraped starts a server and returns the address of its metrics, and their page after a call.
func scraped(t *testing.T) (address, page string) {
	t.Helper()
	r := serveRemote(t, "models: {providers: {local: {url: \"http://127.0.0.1:1/v1\", models: [small]}}}\n",
		"--metrics", "localhost:0")
	address = r.log.find(t, `serving metrics +url=(\S+)`)
	if res, body := r.post("/mcp", r.token("--profile", "full"), "tools/call", `"name":"datetime","arguments":{}`,
		"Mcp-Name", "datetime"); res.StatusCode != http.StatusOK {
		t.Fatal(body)
	}
	response, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return address, string(text)
}

// TestMetricsAreDocumented compares the metrics with the page, the alert rules and the dashboard.
func TestMetricsAreDocumented(t *testing.T) {
	_, page := scraped(t)
	served := map[string]bool{}
	for _, line := range regexp.MustCompile(`(?m)^# TYPE (\S+) `).FindAllStringSubmatch(page, -1) {
		served[line[1]] = true
	}
	named := func(text string) map[string]bool {
		out := map[string]bool{}
		for _, name := range regexp.MustCompile(`\b(mcp_tools|process|go)_[a-z_]+\b`).FindAllString(text, -1) {
			if name = strings.TrimSuffix(name, "_bucket"); name != "mcp_tools" {
				out[name] = true
			}
		}
		return out
	}
	documented := named(readText(t, "../../docs/monitoring.md"))
	for name := range served {
		if strings.HasPrefix(name, "mcp_tools_") && !documented[name] { // the others are the client's
			t.Errorf("docs/monitoring.md lacks %s", name)
		}
	}
	for _, file := range []string{"alerts.yml", "dashboard.json", "../monitoring.md"} {
		for _, name := range slices.Sorted(maps.Keys(named(readText(t, monitoring+file)))) {
			if !served[name] {
				t.Errorf("%s: the server has no metric %s", file, name)
			}
		}
	}
}

// TestPrometheus lets Prometheus read the metrics, the alert rules, and the queries of the dashboard.
func TestPrometheus(t *testing.T) {
	promtool, prometheus := needtest.Program(t, "promtool"), needtest.Program(t, "prometheus")
	address, page := scraped(t)
	tool := func(stdin string, args ...string) {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir, cmd.Stdin = filepath.FromSlash(monitoring), strings.NewReader(stdin)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
	tool("", "check", "rules", "alerts.yml")
	tool("", "test", "rules", "alerts_test.yml")
	tool(page, "check", "metrics")

	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	api := startPrometheus(t, prometheus, at.Host)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if result, err := queryPrometheus(api, "mcp_tools_build_info"); err == nil && string(result) != "[]" {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("nothing was scraped: %s, %v", result, err)
		}
	}
	exprs := regexp.MustCompile(`"(?:expr|query)": ("(?:[^"\\]|\\.)*")`).
		FindAllStringSubmatch(readText(t, monitoring+"dashboard.json"), -1)
	if len(exprs) < 20 {
		t.Fatalf("found only %d queries in the dashboard", len(exprs))
	}
	variables := strings.NewReplacer("$job", "mcp-tools", "$instance", ".*", "$__rate_interval", "1m")
	for _, expr := range exprs {
		var query string
		if err := json.Unmarshal([]byte(expr[1]), &query); err != nil {
			t.Fatal(err)
		}
		if query == "prometheus" || strings.HasPrefix(query, "label_values(") {
			continue
		}
		if _, err := queryPrometheus(api, variables.Replace(query)); err != nil {
			t.Errorf("%s: %v", query, err)
		}
	}
}

// startPrometheus starts Prometheus for one target and returns the URL of its API.
func startPrometheus(t *testing.T, program, target string) string {
	t.Helper()
	dir := t.TempDir()
	settings := "global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: mcp-tools\n  static_configs: [{targets: ['" +
		target + "']}]\n"
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--config.file", filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", address)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	return "http://" + address + "/api/v1/query"
}

// queryPrometheus returns the result of a query as JSON.
func queryPrometheus(api, query string) (json.RawMessage, error) {
	response, err := http.PostForm(api, url.Values{"query": {query}})
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var body struct {
		Error string
		Data  struct{ Result json.RawMessage }
	}
	if err := json.NewDecoder(response.Body).Decode(&body); err != nil {
		return nil, err
	}
	if body.Error != "" {
		return nil, &url.Error{Op: "query", URL: query, Err: os.ErrInvalid}
	}
	return body.Data.Result, nil
}
