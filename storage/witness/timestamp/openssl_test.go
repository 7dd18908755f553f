package timestamp

import (
	"bytes"
	"crypto/x509"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/storage/witness/timestamp/tsatest"
)

// openssl runs the program of that name in a folder.
func openssl(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "openssl", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

const tsaConfig = `
[ ca ]
basicConstraints = critical,CA:true
keyUsage = critical,keyCertSign
[ leaf ]
basicConstraints = critical,CA:false
keyUsage = critical,digitalSignature
extendedKeyUsage = critical,timeStamping
[ req ]
distinguished_name = dn
[ dn ]
[ tsa ]
default_tsa = t
[ t ]
serial = serial
signer_digest = DIGEST
default_policy = 1.2.3.4.1
digests = sha256, sha512
accuracy = secs:1, millisecs:500
ess_cert_id_alg = ESS
ordering = yes
tsa_name = yes
`

// authority makes a time-stamping authority of openssl in a folder, with keys made by the arguments.
func authority(t *testing.T, digest, ess string, key ...string) (dir string, roots *x509.CertPool) {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		if os.Getenv("CURTSY_MUST_RUN") != "" {
			t.Fatal("openssl is not installed, and CURTSY_MUST_RUN is set")
		}
		t.Skip("openssl is not installed: its time-stamps are not compared with ours")
	}
	dir = t.TempDir()
	config := strings.NewReplacer("DIGEST", digest, "ESS", ess).Replace(tsaConfig)
	if err := os.WriteFile(filepath.Join(dir, "c"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		append([]string{"genpkey", "-out", "ca.key"}, key...),
		append([]string{"genpkey", "-out", "tsa.key"}, key...),
		{"req", "-config", "c", "-x509", "-new", "-key", "ca.key", "-subj", "/CN=Root", "-extensions", "ca", "-out", "ca.pem"},
		{"req", "-config", "c", "-new", "-key", "tsa.key", "-subj", "/CN=Clock", "-out", "csr"},
		{"x509", "-req", "-in", "csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-set_serial", "2", "-extfile", "c", "-extensions", "leaf", "-out", "tsa.pem"},
	} {
		if out, err := openssl(t, dir, args...); err != nil {
			t.Fatalf("openssl %v: %v\n%s", args, err, out)
		}
	}
	roots = x509.NewCertPool()
	ca, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err != nil || !roots.AppendCertsFromPEM(ca) {
		t.Fatal(err)
	}
	return dir, roots
}

func put(t *testing.T, dir, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// openssl answers our requests; both take its answer for the text, and neither for another.
func TestOpenSSLAgreesOnItsOwnAnswers(t *testing.T) {
	for name, a := range map[string]struct {
		digest, ess string
		key         []string
	}{
		"RSA, SHA-256":   {"sha256", "sha256", []string{"-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"}},
		"ECDSA, SHA-512": {"sha512", "sha1", []string{"-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, roots := authority(t, a.digest, a.ess, a.key...)
			r := NewRequest(text)
			query, err := r.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			put(t, dir, "q", query)
			put(t, dir, "text", text)
			put(t, dir, "other", []byte("other"))
			if out, err := openssl(t, dir, "ts", "-reply", "-config", "c", "-queryfile", "q", "-signer", "tsa.pem", "-inkey", "tsa.key", "-out", "r"); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			tsr, err := os.ReadFile(filepath.Join(dir, "r"))
			if err != nil {
				t.Fatal(err)
			}
			at, signer, err := r.Accept(tsr, text, roots)
			if err != nil || signer != "CN=Clock" || at.IsZero() {
				t.Errorf("we: %v %q %v", at, signer, err)
			}
			if tok, err := Read(tsr); err != nil || tok.Accuracy.Milliseconds() != 1500 || tok.Policy != "1.2.3.4.1" {
				t.Errorf("%+v %v", tok, err)
			}
			if out, err := openssl(t, dir, "ts", "-verify", "-in", "r", "-queryfile", "q", "-CAfile", "ca.pem"); err != nil {
				t.Errorf("openssl: %v\n%s", err, out)
			}
			for _, file := range []string{"text", "other"} {
				b, err := os.ReadFile(filepath.Join(dir, file))
				if err != nil {
					t.Fatal(err)
				}
				_, _, ours := Check(tsr, b, roots)
				out, theirs := openssl(t, dir, "ts", "-verify", "-in", "r", "-data", file, "-CAfile", "ca.pem")
				if good := file == "text"; (ours == nil) != good || (theirs == nil) != good {
					t.Errorf("%s: we say %v, openssl %v\n%s", file, ours, theirs, out)
				}
			}
		})
	}
}

// The authority of tests answers the requests of openssl, which takes its answers as we do; of forged ones both refuse
// each.
func TestOpenSSLAgreesOnTheAnswersOfOthers(t *testing.T) {
	dir, _ := authority(t, "sha256", "sha256", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
	a := tsatest.New(t)
	put(t, dir, "root.pem", a.PEM)
	put(t, dir, "text", text)
	if out, err := openssl(t, dir, "ts", "-query", "-data", "text", "-sha256", "-cert", "-out", "q"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	query, err := os.ReadFile(filepath.Join(dir, "q"))
	if err != nil {
		t.Fatal(err)
	}
	plain := a.Leaf(t, nil, false)
	for name, change := range map[string]func(*tsatest.Parts){
		"":          func(*tsatest.Parts) {},
		"imprint":   func(p *tsatest.Parts) { p.Imprint = make([]byte, 32) },
		"signature": func(p *tsatest.Parts) { p.Spoil = func(b []byte) { b[len(b)-1] ^= 1 } },
		"content": func(p *tsatest.Parts) {
			p.Swap = func(b []byte) []byte { return bytes.Replace(b, []byte{2, 1, 7}, []byte{2, 1, 8}, 1) }
		},
		"usage":  func(p *tsatest.Parts) { p.Certificate, p.Named = plain.Raw, plain.Raw },
		"named":  func(p *tsatest.Parts) { p.Named = plain.Raw },
		"status": func(p *tsatest.Parts) { p.Status = 2 },
	} {
		a.Change = change
		tsr := a.Answer(query)
		put(t, dir, "r", tsr)
		_, _, ours := Check(tsr, text, a.Roots)
		out, theirs := openssl(t, dir, "ts", "-verify", "-in", "r", "-queryfile", "q", "-CAfile", "root.pem")
		if good := name == ""; (ours == nil) != good || (theirs == nil) != good {
			t.Errorf("%q: we say %v, openssl %v\n%s", name, ours, theirs, out)
		}
	}
}
