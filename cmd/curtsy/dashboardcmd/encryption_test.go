package dashboardcmd

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"curtsy/crawler/dashboard"
)

var certTime = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// certified writes a certificate and its key, good for a day from then on, and returns their files and the certificate.
func certified(t *testing.T, from time.Time, names ...string) (Encryption, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a dashboard"}, NotBefore: from, NotAfter: from.Add(24 * time.Hour), DNSNames: names,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return Encryption{
		Cert: file(t, dir, "cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))),
		Key:  file(t, dir, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))),
	}, c
}

func file(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What a browser would refuse is refused where its owner reads why, with what to do.
func TestACertificateThatIsNoneIsRefused(t *testing.T) {
	good, _ := certified(t, certTime.Add(-time.Hour), "crawl.example.org")
	other, _ := certified(t, certTime.Add(-time.Hour), "crawl.example.org")
	old, _ := certified(t, certTime.Add(-48*time.Hour), "crawl.example.org")
	young, _ := certified(t, certTime.Add(time.Hour), "crawl.example.org")
	dir := t.TempDir()
	for rule, c := range map[string]struct {
		e    Encryption
		want string
	}{
		"no key":                {Encryption{Cert: good.Cert}, "add --dashboard-key FILE"},
		"no certificate":        {Encryption{Key: good.Key}, "add --dashboard-cert FILE"},
		"no file":               {Encryption{Cert: filepath.Join(dir, "none"), Key: good.Key}, "--dashboard-cert: open "},
		"no file of the key":    {Encryption{Cert: good.Cert, Key: filepath.Join(dir, "none")}, "--dashboard-key: open "},
		"a folder":              {Encryption{Cert: dir, Key: good.Key}, "--dashboard-cert: read "},
		"exchanged":             {Encryption{Cert: good.Key, Key: good.Cert}, "exchange them"},
		"the key of another":    {Encryption{Cert: good.Cert, Key: other.Key}, "do not fit together"},
		"expired":               {old, "has expired on 2026-03-03 05:06 UTC"},
		"of the future":         {young, "not valid before 2026-03-04 06:06 UTC"},
		"no PEM":                {Encryption{Cert: file(t, dir, "x", "x"), Key: good.Key}, "holds no certificate in PEM"},
		"no key in PEM":         {Encryption{Cert: good.Cert, Key: file(t, dir, "y", "y")}, "holds no private key in PEM"},
		"a key that is locked":  {Encryption{Cert: good.Cert, Key: file(t, dir, "z", "-----BEGIN ENCRYPTED PRIVATE KEY-----")}, "openssl pkey -in "},
		"a damaged certificate": {Encryption{Cert: file(t, dir, "c", "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"), Key: good.Key}, "do not fit together"},
	} {
		if s, err := c.e.read("dashboard-", certTime); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v", rule, s, err)
		}
	}
	if s, err := (Encryption{}).read("", certTime); s != nil || err != nil {
		t.Errorf("nothing is asked for: %v, %v", s, err)
	}
	if err := (&Beside{Encryption: good}).Listen(t.Context()); err == nil || !strings.Contains(err.Error(), "--dashboard ADDRESS:PORT") {
		t.Errorf("a certificate without a page: %v", err)
	}
}

// A page with a certificate is asked for over TLS, by a name that the certificate has, and its cookie is for TLS alone.
func TestAPageIsEncrypted(t *testing.T) {
	e, c := certified(t, certTime.Add(-time.Hour), "*.example.org", "crawl.example.org")
	sealed, err := e.read("", certTime)
	if err != nil {
		t.Fatal(err)
	}
	if at := sealed.at("127.0.0.1:8800"); at != "crawl.example.org:8800" {
		t.Errorf("it is said to be at %s", at)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := dashboard.New(dashboard.Options{TLS: true, Names: sealed.names()})
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, sealed.over(l)) }()
	defer func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	roots := x509.NewCertPool()
	roots.AddCert(c)
	client := &http.Client{
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
			},
			TLSClientConfig: &tls.Config{RootCAs: roots, Time: func() time.Time { return certTime }},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer client.CloseIdleConnections()
	address := s.Address(sealed.at(l.Addr().String()))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	resp.Body.Close()
	if got := resp.Cookies(); resp.StatusCode != http.StatusSeeOther || len(got) != 1 || !got[0].Secure || !strings.HasPrefix(got[0].Name, "__Host-") || resp.TLS.Version < tls.VersionTLS12 {
		t.Errorf("%d, %+v", resp.StatusCode, got)
	}
}

// An address that others reach is warned of, more so without encryption.
func TestAnAddressThatOthersReachIsWarnedOf(t *testing.T) {
	here, far := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1}
	var none *sealed
	if w := none.warn("", here); w != "" {
		t.Errorf("loopback: %s", w)
	}
	if w := none.warn("dashboard-", far); !strings.Contains(w, "not encrypted") || !strings.Contains(w, "--dashboard-cert FILE") {
		t.Errorf("without TLS: %s", w)
	}
	if w := (&sealed{}).warn("", far); strings.Contains(w, "not encrypted") || !strings.Contains(w, "token") {
		t.Errorf("with TLS: %s", w)
	}
}
