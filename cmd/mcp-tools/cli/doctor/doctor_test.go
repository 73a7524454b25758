package doctor

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/room"
)

// certificate writes a certificate that counts from one time to another, and
// its key.
func certificate(t *testing.T, from, to time.Time) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: to}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE" + " KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestDoctorLooksAtCertificates(t *testing.T) {
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		from, to time.Duration // from now
		want     room.State
	}{
		"good":    {-day, 365 * day, room.Fine},
		"ends":    {-day, 5 * day, room.Warning},
		"expired": {-day, -time.Hour, room.Broken},
		"early":   {time.Hour, 365 * day, room.Broken},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			cert, key := certificate(t, now.Add(c.from), now.Add(c.to))
			doctor := &checkup{
				settings: &app.Loaded{Config: app.Settings{Server: config.Server{TLSCert: cert, TLSKey: key}}},
			}
			doctor.checkTLS()
			if len(doctor.found.List) != 1 || doctor.found.List[0].State != c.want {
				t.Errorf("found %+v, want %s", doctor.found.List, c.want)
			}
		})
	}
}

func TestDoctorTriesAddresses(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for address, want := range map[string]room.State{
		taken.Addr().String(): room.Warning,
		"127.0.0.1:0":         room.Fine,
		"203.0.113.1:1":       room.Broken, // no address of this machine
	} {
		doctor := &checkup{}
		doctor.checkAddress("http", address, "--http")
		if len(doctor.found.List) != 1 || doctor.found.List[0].State != want {
			t.Errorf("%s: %+v, want %s", address, doctor.found.List, want)
		}
	}
}

func TestDoctorFindsPlaces(t *testing.T) {
	dir := t.TempDir()
	if got := existing(filepath.Join(dir, "not", "there")); got != dir {
		t.Errorf("the nearest directory is %q, want %q", got, dir)
	}
	if err := writable(dir); err != nil {
		t.Error(err)
	}
	if err := writable(filepath.Join(dir, "gone")); err == nil {
		t.Error("a directory that is not there can be written")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the doctor left %v behind: %v", left, err)
	}
	if d, err := diskOf(dir); err == nil && d.free == 0 || err != nil && !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("the disk is %+v: %v", d, err)
	}
}

func TestListedWaitsForTheTools(t *testing.T) {
	for said, want := range map[string]string{
		`{"id":1,"result":{}}` + "\n" + `{"id":2,"result":{"tools":[{},{}]}}` + "\n": "",
		`{"id":1,"result":{}}` + "\n":                       "ended before it listed its tools",
		`{"id":1,"error":{"message":"no such era"}}` + "\n": `"no such era"`,
		"Hello!\n": "something else than JSON",
	} {
		n, err := listed(strings.NewReader(said), nil)
		if want == "" && (n != 2 || err != nil) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %d tools, %v; want %q", said, n, err, want)
		}
	}
	if _, err := listed(strings.NewReader(""), io.ErrClosedPipe); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a server that takes nothing: %v", err)
	}
}

// TestTryStartGivesUp: a server that cannot be started in time is an error
// with what it said, and is not left running.
func TestTryStartGivesUp(t *testing.T) {
	var out bytes.Buffer
	env := &app.Env{Out: &out, Err: &out, Getenv: os.Getenv, ConfigFile: filepath.Join(t.TempDir(), "gone.yaml")}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := TryStart(ctx, os.Args[0], serveArgs(env, t.TempDir())); err == nil {
		t.Error("a start that was called off succeeded")
	}
}
