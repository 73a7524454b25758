// Package egresstest gives tests a real egress client for an internet of test servers.
// Their names have public addresses, and their usual ports lead to the servers. Private
// addresses are refused and other names do not exist, as outside of tests.
//
// Begin with [Client], or with [New] for more control.
package egresstest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
)

// Client returns a client that lives as long as the test. A key of hosts is a
// name, for ports 80 and 443, or name:port:
//
//	client := egresstest.Client(t, map[string]*httptest.Server{"docs.example.com": server})
//	client.Do(ctx, outbound.Request{URL: "https://docs.example.com/"})
//
// A server without TLS answers at port 443, too, with a certificate for its name.
func Client(t testing.TB, hosts map[string]*httptest.Server) outbound.Client {
	t.Helper()
	return New(t, hosts).Client(t)
}

// Client returns a client for this internet.
func (n *Net) Client(t testing.TB) outbound.Client {
	t.Helper()
	c, err := egress.NewClient(egress.ClientOptions{Resolver: n, Proxy: n.ProxyURL, Roots: n.Roots})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Dialer returns a dialer into a new internet, for an [egress.Proxy].
func Dialer(t testing.TB, hosts map[string]*httptest.Server) *egress.Dialer {
	t.Helper()
	return New(t, hosts).dialer(t)
}

// Proxy returns a real proxy into this internet. It serves nothing yet. It calls note with the
// host and port of each request that the rules allow, and refused with the reason of each
// refused one. Both may be nil. See [egress.ProxyOptions].OnRefused.
func (n *Net) Proxy(t testing.TB, note func(to string), refused func(to string, err error)) *egress.Proxy {
	t.Helper()
	o := egress.ProxyOptions{Dialer: n.dialer(t)}
	if refused != nil {
		o.OnRefused = func(to egress.Target, err error) { refused(to.String(), err) }
	}
	if note != nil {
		o.Allow = func(_ context.Context, to egress.Target) error { note(to.String()); return nil }
	}
	return egress.NewProxy(o)
}

func (n *Net) dialer(t testing.TB) *egress.Dialer {
	t.Helper()
	d, err := egress.NewDialer(egress.Rules{}, n)
	if err == nil {
		d, err = d.ThroughProxy(n.ProxyURL)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A Net is an internet for a test. It resolves names, and its proxy leads to its servers.
type Net struct {
	ProxyURL *url.URL       // a SOCKS5 proxy, the only way into the internet
	Roots    *x509.CertPool // the authority that signs for its hosts

	mu          sync.Mutex
	names       map[string][]string         // answers to lookups: each lookup takes one, the last one stays
	lookups     []string                    // names that were looked up
	dialed      []string                    // addresses that were dialed
	endpoints   map[netip.AddrPort]endpoint // by address and port
	authority   *authority
	nextAddress netip.Addr
}

// An endpoint is the server behind an address and a port.
type endpoint struct {
	server string // its address
	name   string // the proxy ends TLS, with a certificate for this name; "": it does not
}

// New creates an internet that exists until the test ends.
func New(t testing.TB, hosts map[string]*httptest.Server) *Net {
	t.Helper()
	n := &Net{Roots: x509.NewCertPool(), names: map[string][]string{}, endpoints: map[netip.AddrPort]endpoint{},
		nextAddress: netip.MustParseAddr("93.184.216.1")}
	n.authority = newAuthority(t, n.Roots)
	for host, server := range hosts {
		n.Add(host, server)
	}
	n.listen(t)
	return n
}

// Add gives a name an address that leads to a server.
func (n *Net) Add(host string, server *httptest.Server) {
	n.mu.Lock()
	defer n.mu.Unlock()
	name, port, single := strings.Cut(host, ":")
	at := n.nextAddress
	if known := n.names[name]; len(known) > 0 {
		at = netip.MustParseAddr(known[0])
	} else {
		n.nextAddress = n.nextAddress.Next()
		n.names[name] = []string{at.String()}
	}
	plain := endpoint{server: server.Listener.Addr().String()}
	secure := endpoint{plain.server, name}
	if server.TLS != nil {
		secure.name = ""
		n.Roots.AddCert(server.Certificate())
	}
	if single {
		n.endpoints[netip.MustParseAddrPort(at.String()+":"+port)] = plain
		return
	}
	n.endpoints[netip.AddrPortFrom(at, 80)] = plain
	n.endpoints[netip.AddrPortFrom(at, 443)] = secure
}

// KeyPin returns the base64 SHA-256 of the public key of all certificates in this
// internet, for programs that trust one key.
func (n *Net) KeyPin() string {
	der, err := x509.MarshalPKIXPublicKey(n.authority.key.Public())
	if err != nil {
		return "" // nothing trusts it
	}
	sum := sha256.Sum256(der)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Resolve sets the answers for a name. Each answer has one or more addresses, separated
// by spaces. Each lookup takes the next answer; the last one stays.
func (n *Net) Resolve(name string, answers ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names[name] = answers
}

// Address returns the address of a name.
func (n *Net) Address(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.names[name][0]
}

// Lookups returns the names that were looked up.
func (n *Net) Lookups() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.lookups...)
}

// Dialed returns the addresses that were dialed, including those without a server.
func (n *Net) Dialed() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.dialed...)
}

// LookupNetIP implements [egress.Resolver].
func (n *Net) LookupNetIP(_ context.Context, network, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lookups = append(n.lookups, host)
	key := strings.TrimSuffix(host, ".")
	all := n.names[key]
	if len(all) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(all) > 1 {
		n.names[key] = all[1:]
	}
	var out []netip.Addr
	for _, text := range strings.Fields(all[0]) {
		if a := netip.MustParseAddr(text); network == "ip" || (network == "ip4") == a.Is4() {
			out = append(out, a)
		}
	}
	return out, nil
}

// An authority signs certificates that only this test trusts.
type authority struct {
	key   *ecdsa.PrivateKey
	cert  *x509.Certificate
	mu    sync.Mutex
	certs map[string]*tls.Certificate
}

func newAuthority(t testing.TB, roots *x509.CertPool) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := &authority{key: key, certs: map[string]*tls.Certificate{}}
	s.cert = template("the signer of a test")
	s.cert.IsCA, s.cert.BasicConstraintsValid, s.cert.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, s.cert, s.cert, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	root, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots.AddCert(root)
	return s
}

func template(name string) *x509.Certificate {
	return &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
}

// certificate returns a certificate for a name.
func (s *authority) certificate(name string) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if made := s.certs[name]; made != nil {
		return made, nil
	}
	cert := template(name)
	cert.DNSNames = []string{name}
	der, err := x509.CreateCertificate(rand.Reader, cert, s.cert, s.key.Public(), s.key)
	if err != nil {
		return nil, err
	}
	made := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: s.key}
	s.certs[name] = made
	return made, nil
}

// listen serves the proxy until the test ends.
func (n *Net) listen(t testing.TB) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n.ProxyURL = &url.URL{Scheme: "socks5", Host: l.Addr().String()}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
				n.connect(ctx, conn)
			})
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = l.Close()
		all.Wait()
	})
}

// connect serves one SOCKS5 request for an address.
func (n *Net) connect(ctx context.Context, conn net.Conn) {
	to, err := readTarget(conn)
	if err != nil {
		return
	}
	n.mu.Lock()
	n.dialed = append(n.dialed, to.String())
	d, found := n.endpoints[to]
	n.mu.Unlock()
	if !found {
		_, _ = conn.Write([]byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0}) // refused
		return
	}
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", d.server)
	if err != nil {
		_, _ = conn.Write([]byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0})
		return
	}
	defer server.Close()
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if _, err := conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0}); err != nil {
		return
	}
	if d.name != "" {
		conn = tls.Server(conn, &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate,
			error) {
			return n.authority.certificate(d.name)
		}})
	}
	copyBoth(conn, server)
}

// copyBoth copies in both directions until both sides end.
func copyBoth(a, b net.Conn) {
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{a, b}, {b, a}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			half, ok := way[0].(interface{ CloseWrite() error })
			if !ok || half.CloseWrite() != nil {
				_ = way[0].Close()
			}
		})
	}
	both.Wait()
}

// readTarget reads a SOCKS5 request.
func readTarget(conn io.ReadWriter) (netip.AddrPort, error) {
	none := netip.AddrPort{}
	var head [2]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return none, err
	}
	if _, err := io.CopyN(io.Discard, conn, int64(head[1])); err != nil {
		return none, err
	}
	if _, err := conn.Write([]byte{5, 0}); err != nil {
		return none, err
	}
	var request [4]byte
	if _, err := io.ReadFull(conn, request[:]); err != nil {
		return none, err
	}
	size, ok := map[byte]int{1: 4, 4: 16}[request[3]]
	if !ok {
		return none, errors.New("this is not an address")
	}
	rest := make([]byte, size+2)
	if _, err := io.ReadFull(conn, rest); err != nil {
		return none, err
	}
	addr, _ := netip.AddrFromSlice(rest[:size])
	return netip.AddrPortFrom(addr, uint16(rest[size])<<8|uint16(rest[size+1])), nil
}
