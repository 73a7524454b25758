package docker

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// fails launches and returns the error that a model reads.
func (p *place) fails(t *testing.T, words ...string) {
	t.Helper()
	b, err := p.try(p.spec())
	if err == nil {
		b.Close()
		t.Fatal("it works")
	}
	var known *tool.Error
	if !errors.As(err, &known) || known.Kind != tool.Unavailable || known.Next == "" {
		t.Errorf("%T %v", err, err)
	}
	finding := p.launcher.Probe(context.Background())
	if finding.Works {
		t.Errorf("the probe says that it works: %+v", finding)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q says nothing of %q", err, w)
		}
		if !strings.Contains(finding.Text+finding.Advice, w) {
			t.Errorf("%+v says nothing of %q", finding, w)
		}
	}
}

func TestProbe(t *testing.T) {
	p := newPlace(t)
	f := p.launcher.Probe(context.Background())
	if !f.Works || len(f.Guarantees) < 3 || !strings.Contains(f.Text, testImage) {
		t.Errorf("%+v", f)
	}
	t.Logf("%+v", f)
}

func TestMissingImage(t *testing.T) {
	newPlace(t, func(o *Options) { o.Image = "mcp-tools-test:absent" }).
		fails(t, "the image mcp-tools-test:absent is not on this docker engine",
			"run docker pull mcp-tools-test:absent", "sandbox.docker.image")
	newPlace(t, func(o *Options) { o.Image = "" }).fails(t, "no image is set", "sandbox.docker.image")
}

func TestDeadEngine(t *testing.T) {
	newPlace(t, func(o *Options) { o.Hosts = []string{"tcp://127.0.0.1:1"} }).fails(t,
		"tcp://127.0.0.1:1 cannot be reached", "start it")
	newPlace(t, func(o *Options) { o.Hosts = []string{"unix://" + filepath.Join(t.TempDir(), "no.sock")} }).fails(t,
		"no.sock", "start it")
}

func TestUnusableAgent(t *testing.T) {
	script := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, want string }{{script, "no Linux program"}, {script + "2", "cannot be read"}} {
		p := newPlace(t, func(o *Options) { o.Agent = c.path })
		if _, err := p.try(p.spec()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.path, err)
		}
	}
}

func TestImpossibleSpecs(t *testing.T) {
	p := newPlace(t)
	w := p.spec()
	w.Open = true
	if _, err := p.try(w); err == nil {
		t.Error("a container got the network of the machine")
	}
	w = p.spec()
	w.Limits.Memory = 0
	w.Require = []sandbox.Guarantee{sandbox.Memory}
	if _, err := p.try(w); err == nil || !strings.Contains(err.Error(), "memory") {
		t.Errorf("a limit that is not there is kept: %v", err)
	}
	w = p.spec()
	w.Require = []sandbox.Guarantee{sandbox.Files, sandbox.Network, sandbox.Processes, sandbox.Calls, sandbox.Memory}
	if _, err := p.try(w); err != nil {
		t.Error(err)
	}
}

// TestPool has engines of which one is down, and spreads over those that work.
func TestPool(t *testing.T) {
	p := newPlace(t, func(o *Options) {
		o.Hosts = []string{"tcp://127.0.0.1:1", "unix:///var/run/docker.sock", "unix:///run/docker.sock"}
	})
	p.open(p.spec())
	p.open(p.spec())
	if n := p.launcher.engines; n[0].live != 0 || n[1].live != 1 || n[2].live != 1 {
		t.Errorf("they run %d, %d, %d", n[0].live, n[1].live, n[2].live)
	}
	now := time.Now()
	if first := sorted(p.launcher.engines, nil, now)[0]; first == p.launcher.engines[0] {
		t.Error("the engine that failed is asked first")
	}
	if first := sorted(p.launcher.engines, nil, now.Add(2*rest))[0]; first != p.launcher.engines[0] {
		t.Error("the engine that failed is never asked again")
	}
}

// remoteUser makes a workspace that can be used from another machine.
func (p *place) remoteUser(t *testing.T) {
	if os.Geteuid() == 0 {
		if err := os.Chown(p.dir, 1234, 1234); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTLS puts a TLS server in front of the engine.
func TestTLS(t *testing.T) {
	certs := t.TempDir()
	conf := authority(t, certs)
	l, err := tls.Listen("tcp", "127.0.0.1:0", conf)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer l.Close()
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { passOn(c.(*tls.Conn)) })
		}
	})
	p := newPlace(t, func(o *Options) { o.Hosts, o.Certs = []string{"tcp://" + l.Addr().String()}, certs })
	p.remoteUser(t)
	b := p.open(p.spec())
	if got := sh(t, b, "echo tls"); got.out != "tls\n" {
		t.Errorf("%+v", got)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	p.launcher.Close()

	t.Run("stranger", func(t *testing.T) {
		other := t.TempDir()
		authority(t, other)
		s := newPlace(t, func(o *Options) { o.Hosts, o.Certs = []string{"tcp://" + l.Addr().String()}, other })
		s.fails(t, "cannot be reached")
	})
}

func passOn(c *tls.Conn) {
	defer c.Close()
	u, err := net.Dial("unix", "/var/run/docker.sock")
	if err != nil {
		return
	}
	defer u.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(u, c)
		_ = u.(*net.UnixConn).CloseWrite()
	}()
	_, _ = io.Copy(c, u)
	_ = c.Close()
	<-done
}

// authority writes what a client needs and returns what the server does.
func authority(t *testing.T, dir string) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour),
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]*pem.Block{"ca.pem": {Type: "CERTIFICATE", Bytes: der},
		"cert.pem": {Type: "CERTIFICATE", Bytes: der},
		"key.pem":  {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	conf, err := tlsConfig(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: conf.Certificates, ClientCAs: conf.RootCAs,
		ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12}
}

// TestProxy gives a container one way out.
func TestProxy(t *testing.T) {
	p := newPlace(t)
	sock := filepath.Join(t.TempDir(), "proxy")
	l, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(sock, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "the way out\n")
			c.Close()
		}
	}()
	w := p.spec()
	w.Proxy = sock
	b := p.open(w)
	if got := sh(t, b, "nc 127.0.0.1 3128 </dev/null"); got.out != "the way out\n" {
		t.Errorf("%+v", got)
	}
	l.Close()
	<-done
}

func TestHosts(t *testing.T) {
	t.Setenv("DOCKER_CERT_PATH", "")
	t.Setenv("DOCKER_TLS_VERIFY", "")
	for host, want := range map[string]string{
		"unix:///run/x.sock": "unix:///run/x.sock", "tcp://127.0.0.1:99": "tcp://127.0.0.1:99",
		"tcp://localhost": "tcp://localhost:2375",
		"":                "", "unix://": "", "unix://rel": "", "there": "", "tcp://there:1": "", "http://x": "",
		"tcp://u:p@127.0.0.1:1": "", "tcp://127.0.0.1:1/x": "",
		"ssh://me@there": "",
	} {
		w, err := parseHost(host, "")
		if (err == nil) != (want != "") || err == nil && w.name != want {
			t.Errorf("%q: %q %v", host, w.name, err)
		}
	}
}
