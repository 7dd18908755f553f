package dashboardcmd

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"curtsy/cmd/curtsy/cli"
)

// Encryption are the files that a page is encrypted with. Its zero value encrypts nothing.
type Encryption struct {
	Cert, Key string // PEM
}

// sealed is what was read of them; nil encrypts nothing.
type sealed struct {
	pair tls.Certificate
}

// read reads the files, given by flags that begin with prefix. What a browser would refuse to open is refused here, where its
// owner reads why.
func (e Encryption) read(prefix string, now time.Time) (*sealed, error) {
	cert, key := "--"+prefix+"cert", "--"+prefix+"key"
	switch {
	case e.Cert == "" && e.Key == "":
		return nil, nil
	case e.Key == "":
		return nil, cli.Usagef("%s %s needs the private key of the certificate, too: add %s FILE", cert, e.Cert, key)
	case e.Cert == "":
		return nil, cli.Usagef("%s %s needs the certificate of the key, too: add %s FILE", key, e.Key, cert)
	}
	certPEM, err := os.ReadFile(e.Cert)
	if err != nil {
		return nil, cli.Usagef("%s: %w", cert, err)
	}
	keyPEM, err := os.ReadFile(e.Key)
	if err != nil {
		return nil, cli.Usagef("%s: %w", key, err)
	}
	switch has := func(pem []byte, what string) bool { return strings.Contains(string(pem), what) }; {
	case !has(certPEM, "-----BEGIN CERTIFICATE") && has(keyPEM, "-----BEGIN CERTIFICATE"):
		return nil, cli.Usagef("%s %s holds no certificate, and %s %s does: exchange them", cert, e.Cert, key, e.Key)
	case !has(certPEM, "-----BEGIN CERTIFICATE"):
		return nil, cli.Usagef("%s %s holds no certificate in PEM: a line BEGIN CERTIFICATE", cert, e.Cert)
	case has(keyPEM, "ENCRYPTED"):
		return nil, cli.Usagef("%s %s is locked with a passphrase, which nobody is asked for here: openssl pkey -in %[2]s -out FILE opens it", key, e.Key)
	case !has(keyPEM, "PRIVATE KEY-----"):
		return nil, cli.Usagef("%s %s holds no private key in PEM: a line BEGIN PRIVATE KEY", key, e.Key)
	}
	s := &sealed{}
	if s.pair, err = tls.X509KeyPair(certPEM, keyPEM); err != nil {
		return nil, cli.Usagef("%s %s and %s %s do not fit together: %w", cert, e.Cert, key, e.Key, err)
	}
	return s, s.inTime(cert, e.Cert, now)
}

// inTime refuses a certificate outside of its time.
func (s *sealed) inTime(flag, file string, now time.Time) error {
	const day = "2006-01-02 15:04 UTC"
	switch from, to := s.pair.Leaf.NotBefore.UTC(), s.pair.Leaf.NotAfter.UTC(); {
	case now.After(to):
		return cli.Usagef("%s %s has expired on %s: browsers refuse it; renew it", flag, file, to.Format(day))
	case now.Before(from):
		return cli.Usagef("%s %s is not valid before %s: browsers refuse it; look at the clock of this machine", flag, file, from.Format(day))
	}
	return nil
}

// over encrypts what is listened to.
func (s *sealed) over(l net.Listener) net.Listener {
	if s == nil {
		return l
	}
	return tls.NewListener(l, &tls.Config{
		Certificates: []tls.Certificate{s.pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
	})
}

// names are those of the certificate by which a browser may ask for the page.
func (s *sealed) names() (names []string) {
	if s == nil {
		return nil
	}
	for _, n := range s.pair.Leaf.DNSNames {
		if !strings.Contains(n, "*") { // any name below it, and so any that somebody else points here
			names = append(names, n)
		}
	}
	return names
}

// at is an address by which the certificate is good: at itself, or a name of the certificate with its port.
func (s *sealed) at(address string) string {
	host, port, err := net.SplitHostPort(address)
	if s == nil || err != nil || s.pair.Leaf.VerifyHostname(host) == nil {
		return address
	}
	var refused x509.HostnameError
	if names := s.names(); len(names) > 0 && errors.As(s.pair.Leaf.VerifyHostname(host), &refused) {
		return net.JoinHostPort(names[0], port)
	}
	return address
}

// warn says what is dangerous about where a page is; empty for nothing.
func (s *sealed) warn(prefix string, at net.Addr) string {
	switch elsewhere := cli.Elsewhere(at); {
	case !elsewhere:
		return ""
	case s == nil:
		return fmt.Sprintf("other machines may reach %s, and the page is not encrypted there: whoever reads the traffic can steer the crawl. "+
			"Encrypt it (--%[2]scert FILE --%[2]skey FILE), put a server that speaks TLS before it, or reach it through ssh -L\n", at, prefix)
	}
	return fmt.Sprintf("other machines may reach %s: whoever has the address with its token can steer the crawl\n", at)
}
