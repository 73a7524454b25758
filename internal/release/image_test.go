package main

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// TestImage pushes the image to a registry, pulls it for this platform, unpacks it and runs
// it as its user, without a container engine.
func TestImage(t *testing.T) {
	needRoot(t)
	images, _ := filepath.Glob(filepath.Join(*dist, "*_image*.tar"))
	find(t, "_image.tar")
	for _, image := range images {
		t.Run(filepath.Base(image), func(t *testing.T) { tryImage(t, image) })
	}
}

// pushImage serves the images of an archive as a registry does.
func pushImage(t *testing.T, file string) name.Reference {
	t.Helper()
	dir := t.TempDir()
	unpackFile(t, file, dir)
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("%+v, %v", manifest, err)
	}
	if index, err = index.ImageIndex(manifest.Manifests[0].Digest); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	ref, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://") + "/mcp-tools:check")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(ref, index); err != nil {
		t.Fatal(err)
	}
	return ref
}

func tryImage(t *testing.T, file string) {
	ref := pushImage(t, file)
	img, err := remote.Image(ref, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: runtime.GOARCH}))
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil || config.Config.Labels["io.modelcontextprotocol.server.name"] != "io.github.mcp-tools/mcp-tools" {
		t.Fatalf("%+v, %v", config, err)
	}
	root := filepath.Join(t.TempDir(), "root")
	flat := mutate.Extract(img)
	defer flat.Close()
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	unpack(t, flat, root)
	for _, dir := range []string{"proc", "dev"} { // engines make them
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	need(t, "unshare")
	args := contained(root, config.Config.Entrypoint...)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = config.Config.Env
	client := start(t, cmd)
	client.tryFiles()
	if strings.Contains(file, "full") {
		for _, program := range []string{"pdftotext -v", "tesseract --version", "chromium --version", "git --version"} {
			args := contained(root, "/bin/bash", "-c", "HOME=/tmp "+program+" 2>&1")
			out := output(t, args[0], args[1:]...)
			t.Log(strings.TrimSpace(out))
		}
	}
}

// contained returns a command that runs another one as the user of the image, in root, with
// namespaces as an engine would.
func contained(root string, args ...string) []string {
	return append([]string{
		"/usr/bin/unshare", "--mount", "--pid", "--fork", "--mount-proc=" + root + "/proc", "/bin/sh", "-c",
		`mount --bind /dev "$0/dev" && exec /usr/sbin/chroot --userspec=65532:65532 "$0" "$@"`, root,
	}, args...)
}

// TestDocker runs the line of the README with an engine that has pulled the image, and the image as a server over
// stdio. Only the name of the image, the port and the names of the volumes are others.
func TestDocker(t *testing.T) {
	docker := need(t, "docker")
	if out, err := exec.Command(docker, "version").CombinedOutput(); err != nil {
		t.Skipf("no engine: %s", out)
	}
	image := pushImage(t, find(t, "_image.tar")).Name()
	output(t, docker, "pull", "-q", image)
	t.Cleanup(func() { _ = exec.Command(docker, "rmi", "-f", image).Run() }) // what is left is the engine's
	start(t, exec.Command(docker, "run", "--rm", "-i", image)).tryFiles()

	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^docker run .*$`).FindString(string(readme))
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	container := fmt.Sprint("mcp-tools-check-", os.Getpid())
	line = strings.NewReplacer("127.0.0.1:8080:", address+":", "-v mcp-tools:", "-v "+container+"-1:",
		"-v mcp-tools-workspace:", "-v "+container+"-2:", "ghcr.io/mcp-tools/mcp-tools:VERSION", "--name "+container+" "+image).Replace(line)
	t.Log(line)
	cmd := exec.Command("sh", "-c", line)
	printed, said := io.Pipe()
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = exec.Command(docker, "stop", container).Run()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ends with %v", err)
		}
		_ = exec.Command(docker, "volume", "rm", container+"-1", container+"-2").Run()
	})
	lines, text, token := bufio.NewScanner(printed), "", []string(nil)
	for token == nil && lines.Scan() {
		text += lines.Text() + "\n"
		token = regexp.MustCompile(`Token: (\S+)`).FindStringSubmatch(lines.Text())
	}
	if token == nil {
		t.Fatalf("no token: %s", text)
	}
	for lines.Scan() && !strings.Contains(lines.Text(), "8080") { // its address
	}
	go func() { _, _ = io.Copy(io.Discard, printed) }()
	post := connectHTTP(t, "http://"+address+"/mcp", token[1])
	if list := post(map[string]any{"id": 2, "method": "tools/list"}); !strings.Contains(list, `"write_file"`) {
		t.Errorf("the tools: %s", list)
	}
	made := post(toolCall("write_file", map[string]any{"path": "a.txt", "content": "one"}))
	if !strings.Contains(made, "created") {
		t.Errorf("write_file: %s", made)
	}
}
