package kubernetes

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"
	"go.yaml.in/yaml/v3"
)

const (
	// patience is the timeout of a request.
	patience = 10 * time.Second
	// maxAnswer is the maximum length of an answer.
	maxAnswer = 16 << 20
	// watchFor is how long the API server keeps a watch open.
	watchFor = 5 * time.Minute
	// account is the directory of the service account in a pod.
	account = "/var/run/secrets/kubernetes.io/serviceaccount"
	// protocol is the version of the streams. Older versions cannot end stdin.
	protocol = "v5.channel.k8s.io"
)

// An api is a connection to an API server.
type api struct {
	name   string // its address, for messages
	base   *url.URL
	client *http.Client
	token  func() (string, error) // read again for each request, since tokens are renewed; nil for none
}

// An apiError is a Status of the API.
type apiError struct {
	Code    int           `json:"code"`
	Reason  string        `json:"reason"`
	Message string        `json:"message"`
	after   time.Duration // to wait before the next try; 0 if the server does not say
}

func (e *apiError) Error() string { return e.Message }

// status returns the HTTP status of an error, or 0.
func status(err error) int {
	if e := (*apiError)(nil); errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// connect returns the API server of a kubeconfig, or without one the API server of the cluster
// around this process.
func connect(kubeconfig string) (*api, error) {
	var c cluster
	var err error
	if kubeconfig == "" {
		c, err = inCluster()
	} else {
		c, err = readKubeconfig(kubeconfig)
	}
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(c.server)
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return nil, fmt.Errorf("the address %q of the API server is not valid", c.server)
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(c.ca) > 0 {
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(c.ca) {
			return nil, errors.New("the certificate of the cluster's authority is not valid")
		}
	}
	if len(c.cert) > 0 {
		pair, err := tls.X509KeyPair(c.cert, c.key)
		if err != nil {
			return nil, fmt.Errorf("the certificate of the client: %w", err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	return &api{name: base.Host, base: base, token: c.token, client: &http.Client{
		Transport: &http.Transport{ // HTTP/1.1: the streams need it
			TLSClientConfig: conf, DialContext: (&net.Dialer{Timeout: patience, KeepAlive: 15 * time.Second}).DialContext,
			TLSHandshakeTimeout: patience, MaxIdleConns: 6, IdleConnTimeout: 30 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// A cluster is an API server, and how to log in to it.
type cluster struct {
	server    string
	ca        []byte
	cert, key []byte
	token     func() (string, error)
}

// inCluster returns the cluster that this process runs in.
func inCluster() (c cluster, err error) {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return c, errors.New("the server does not run in a cluster, and no kubeconfig is set")
	}
	if c.ca, err = os.ReadFile(filepath.Join(account, "ca.crt")); err != nil {
		return c, errors.New("the pod of the server has no service account token")
	}
	c.server, c.token = "https://"+net.JoinHostPort(host, port), tokenFile(filepath.Join(account, "token"))
	return c, nil
}

func tokenFile(path string) func() (string, error) {
	return func() (string, error) {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", errors.New("the token for the API server cannot be read")
		}
		return strings.TrimSpace(string(text)), nil
	}
}

// A kubeconfig is the part of such a file that is used.
type kubeconfig struct {
	Current  string `yaml:"current-context"`
	Contexts []struct {
		Name    string
		Context struct{ Cluster, User string }
	}
	Clusters []struct {
		Name    string
		Cluster struct {
			Server string
			CA     string `yaml:"certificate-authority"`
			CAData string `yaml:"certificate-authority-data"`
		}
	}
	Users []struct {
		Name string
		User struct {
			Token     string
			TokenFile string `yaml:"tokenFile"`
			Cert      string `yaml:"client-certificate"`
			CertData  string `yaml:"client-certificate-data"`
			Key       string `yaml:"client-key"`
			KeyData   string `yaml:"client-key-data"`
			Exec      any
			Provider  any `yaml:"auth-provider"`
		}
	}
}

// readKubeconfig returns the cluster and the user of the current context.
func readKubeconfig(path string) (c cluster, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return c, errors.New("the kubeconfig cannot be read")
	}
	var k kubeconfig
	if err := yaml.Unmarshal(text, &k); err != nil {
		return c, fmt.Errorf("the kubeconfig is not valid: %w", err)
	}
	var cluster, user string
	for _, one := range k.Contexts {
		if one.Name == k.Current {
			cluster, user = one.Context.Cluster, one.Context.User
		}
	}
	found := false
	load := func(data, file string) []byte {
		if data != "" {
			decoded, wrong := base64.StdEncoding.DecodeString(data)
			err = errors.Join(err, wrong)
			return decoded
		}
		if file == "" {
			return nil
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(path), file)
		}
		content, wrong := os.ReadFile(file)
		err = errors.Join(err, wrong)
		return content
	}
	for _, one := range k.Clusters {
		if one.Name == cluster {
			found = true
			c.server, c.ca = one.Cluster.Server, load(one.Cluster.CAData, one.Cluster.CA)
		}
	}
	for _, one := range k.Users {
		if one.Name != user {
			continue
		}
		u := one.User
		if u.Exec != nil || u.Provider != nil {
			return c, errors.New("the kubeconfig uses a plugin for credentials: make one with the token of a service account")
		}
		c.cert, c.key = load(u.CertData, u.Cert), load(u.KeyData, u.Key)
		switch {
		case u.Token != "":
			c.token = func() (string, error) { return u.Token, nil }
		case u.TokenFile != "":
			c.token = tokenFile(u.TokenFile)
		}
	}
	if !found {
		return c, fmt.Errorf("the kubeconfig has no cluster for its current context %q", k.Current)
	}
	return c, err
}

// request returns a request with the token.
func (a *api) request(ctx context.Context, method, path string, query url.Values, body []byte) (*http.Request, error) {
	u := a.base.JoinPath(path)
	u.RawQuery = query.Encode()
	r, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, a.authorize(r.Header)
}

func (a *api) authorize(h http.Header) error {
	if a.token == nil {
		return nil
	}
	token, err := a.token()
	if err == nil {
		h.Set("Authorization", "Bearer "+token)
	}
	return err
}

// open sends a request, and returns the response if it is a success. An API server that has too many requests says when
// to try again.
func (a *api) open(ctx context.Context, method, path string, query url.Values, body []byte) (*http.Response, error) {
	for {
		resp, err := a.once(ctx, method, path, query, body)
		refused := (*apiError)(nil)
		if !errors.As(err, &refused) || refused.Code != http.StatusTooManyRequests || refused.after == 0 {
			return resp, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(refused.after):
		}
	}
}

func (a *api) once(ctx context.Context, method, path string, query url.Values, body []byte) (*http.Response, error) {
	r, err := a.request(ctx, method, path, query, body)
	if err != nil {
		return nil, err
	}
	resp, err := a.client.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, failure(resp)
}

// failure returns the error in a response.
func failure(resp *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	e := &apiError{}
	if json.Unmarshal(text, e) != nil || e.Message == "" {
		e.Message = "the answer has the status " + resp.Status
	}
	e.Code = resp.StatusCode
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		e.after = time.Duration(max(seconds, 1)) * time.Second
	}
	return e
}

// do sends a request, and decodes the answer.
func (a *api) do(ctx context.Context, method, path string, query url.Values, send, into any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var body []byte
	if send != nil {
		var err error
		if body, err = json.Marshal(send); err != nil {
			return err
		}
	}
	resp, err := a.open(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(text, into)
}

func pods(namespace string) string {
	return "/api/v1/namespaces/" + url.PathEscape(namespace) + "/pods"
}

// create creates a pod. A trial passes all checks of the API server, and creates nothing.
func (a *api) create(ctx context.Context, namespace string, p pod, trial bool) error {
	query := url.Values{}
	if trial {
		query.Set("dryRun", "All")
	}
	return a.do(ctx, http.MethodPost, pods(namespace), query, p, nil)
}

func (a *api) get(ctx context.Context, namespace, name string) (p pod, err error) {
	return p, a.do(ctx, http.MethodGet, pods(namespace)+"/"+name, nil, nil, &p)
}

func (a *api) list(ctx context.Context, namespace, selector string) ([]pod, error) {
	var list struct{ Items []pod }
	return list.Items, a.do(ctx, http.MethodGet, pods(namespace), url.Values{"labelSelector": {selector}}, nil, &list)
}

func (a *api) remove(ctx context.Context, namespace, name string) error {
	return a.do(ctx, http.MethodDelete, pods(namespace)+"/"+name, url.Values{"gracePeriodSeconds": {"0"}}, nil, nil)
}

func (a *api) policies(ctx context.Context, namespace string) ([]policy, error) {
	var list struct{ Items []policy }
	return list.Items, a.do(ctx, http.MethodGet, "/apis/networking.k8s.io/v1/namespaces/"+url.PathEscape(namespace)+"/networkpolicies",
		nil, nil, &list)
}

// errWatchEnded means that the API server has closed a watch, as it does from time to time.
var errWatchEnded = errors.New("the watch has ended")

// watch calls until with a pod and each change of it, until that returns true or an error.
func (a *api) watch(ctx context.Context, namespace string, p pod, until func(pod) (bool, error)) error {
	if done, err := until(p); done || err != nil {
		return err
	}
	resp, err := a.open(ctx, http.MethodGet, pods(namespace), url.Values{
		"watch": {"1"}, "fieldSelector": {"metadata.name=" + p.Metadata.Name}, "resourceVersion": {p.Metadata.ResourceVersion},
		"timeoutSeconds": {fmt.Sprint(int(watchFor.Seconds()))},
	}, nil)
	if status(err) == http.StatusGone { // the resource version is too old
		return errWatchEnded
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	events := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer))
	for {
		var event struct {
			Type   string
			Object json.RawMessage
		}
		if err := events.Decode(&event); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return errWatchEnded
		}
		switch event.Type {
		case "ADDED", "MODIFIED":
			var p pod
			if err := json.Unmarshal(event.Object, &p); err != nil {
				return err
			}
			if done, err := until(p); done || err != nil {
				return err
			}
		case "DELETED":
			return errDeleted()
		case "ERROR":
			return errWatchEnded // likewise
		}
	}
}

// attach attaches to the streams of a container.
func (a *api) attach(ctx context.Context, namespace, name, container string) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	header := http.Header{}
	if err := a.authorize(header); err != nil {
		return nil, err
	}
	u := a.base.JoinPath(pods(namespace), name, "attach")
	u.RawQuery = url.Values{"container": {container}, "stdin": {"true"}, "stdout": {"true"}, "stderr": {"true"}}.Encode()
	conn, resp, err := websocket.Dial(ctx, u.String(), &websocket.DialOptions{
		HTTPClient: a.client, HTTPHeader: header, Subprotocols: []string{protocol}, CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
			return nil, failure(resp)
		}
		return nil, err
	}
	if conn.Subprotocol() != protocol {
		conn.CloseNow()
		return nil, unavailable("the API server of Kubernetes is too old: it does not speak %s", protocol).
			Try("ask the operator for Kubernetes 1.30 or later")
	}
	conn.SetReadLimit(maxMessage)
	return conn, nil
}
