// Package egresstest gives tests a real egress client whose internet is made of
// servers of the test. Names that the test gives are at addresses that look
// public, at the ports that are usual, and lead to its servers; everything else
// is as it is outside: what is inside is refused, and other names do not exist.
// It knows nothing of what is asked.
//
// Begin with [Client], or with [New] where more is needed.
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

// Client returns one for this internet.
func (n *Net) Client(t testing.TB) outbound.Client {
	t.Helper()
	c, err := egress.NewClient(egress.ClientOptions{Resolver: n, Proxy: n.Way, Roots: n.Roots})
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

// Dialer returns a dialer into the same internet, for an [egress.Proxy].
func Dialer(t testing.TB, hosts map[string]*httptest.Server) *egress.Dialer {
	t.Helper()
	return New(t, hosts).dialer(t)
}

// Proxy returns a real proxy into this internet, for programs that cannot connect
// by themselves. It serves nothing yet. Note, which may be nil, is told which
// host and port was asked for, when that has ended or was refused. Refused, which
// may be nil, is told why something is not connected to, in the place of whoever
// wanted it.
func (n *Net) Proxy(t testing.TB, note func(to string), refused func(to string, err error)) *egress.Proxy {
	t.Helper()
	o := egress.ProxyOptions{Dialer: n.dialer(t)}
	if refused != nil {
		o.Refused = func(to egress.Target, err error) { refused(to.String(), err) }
	}
	if note != nil {
		o.Note = func(v egress.Visit) { note(v.Target.String()) }
	}
	return egress.NewProxy(o)
}

func (n *Net) dialer(t testing.TB) *egress.Dialer {
	t.Helper()
	d, err := egress.NewDialer(egress.Rules{}, n)
	if err == nil {
		d, err = d.Through(n.Way)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A Net is an internet. It resolves names, and is what egress.ClientOptions want.
type Net struct {
	Way   *url.URL       // a SOCKS5 proxy: the only way into it
	Roots *x509.CertPool // who signs for its hosts

	mu      sync.Mutex
	names   map[string][]string     // answers to lookups; each takes one, and the last for ever
	asked   []string                // names that were looked up
	reached []string                // addresses that were dialled
	doors   map[netip.AddrPort]door // what is at an address and a port
	signer  *signer
	next    netip.Addr
}

// A door is what is behind an address and a port.
type door struct {
	server string // where it listens
	name   string // TLS ends here, with a certificate for this name; "": it does not
}

// New makes an internet that lasts as long as the test.
func New(t testing.TB, hosts map[string]*httptest.Server) *Net {
	t.Helper()
	n := &Net{Roots: x509.NewCertPool(), names: map[string][]string{}, doors: map[netip.AddrPort]door{}, next: netip.MustParseAddr("93.184.216.1")}
	n.signer = newSigner(t, n.Roots)
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
	at := n.next
	if known := n.names[name]; len(known) > 0 {
		at = netip.MustParseAddr(known[0])
	} else {
		n.next = n.next.Next()
		n.names[name] = []string{at.String()}
	}
	plain := door{server: server.Listener.Addr().String()}
	secure := door{plain.server, name}
	if server.TLS != nil {
		secure.name = ""
		n.Roots.AddCert(server.Certificate())
	}
	if single {
		n.doors[netip.MustParseAddrPort(at.String()+":"+port)] = plain
		return
	}
	n.doors[netip.AddrPortFrom(at, 80)] = plain
	n.doors[netip.AddrPortFrom(at, 443)] = secure
}

// KeyPin is the SHA-256 in base64 of the public key in all certificates of this
// internet, as browsers and others want it who are to trust one key.
func (n *Net) KeyPin() string {
	der, err := x509.MarshalPKIXPublicKey(n.signer.key.Public())
	if err != nil {
		return "" // which nothing trusts
	}
	sum := sha256.Sum256(der)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Resolve has lookups of a name answered by addresses, several in one answer
// parted by spaces. Each lookup takes the next answer, the last one for ever.
func (n *Net) Resolve(name string, answers ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names[name] = answers
}

// Address is what a name is at.
func (n *Net) Address(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.names[name][0]
}

// Asked are the names that were looked up.
func (n *Net) Asked() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.asked...)
}

// Reached are the addresses that were dialled, whether something is there or not.
func (n *Net) Reached() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.reached...)
}

// LookupNetIP makes a Net an [egress.Resolver].
func (n *Net) LookupNetIP(_ context.Context, network, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, host)
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

// A signer makes certificates that only this test believes.
type signer struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	mu   sync.Mutex
	made map[string]*tls.Certificate
}

func newSigner(t testing.TB, roots *x509.CertPool) *signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := &signer{key: key, made: map[string]*tls.Certificate{}}
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

// certificate is one for a name.
func (s *signer) certificate(name string) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if made := s.made[name]; made != nil {
		return made, nil
	}
	cert := template(name)
	cert.DNSNames = []string{name}
	der, err := x509.CreateCertificate(rand.Reader, cert, s.cert, s.key.Public(), s.key)
	if err != nil {
		return nil, err
	}
	made := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: s.key}
	s.made[name] = made
	return made, nil
}
