package timestamp

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"curtsy/storage/witness/timestamp/tsatest"
)

var text = []byte("curtsy-01234567/0123456789abcdef\n5\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n")

func TestAnAnswerCountsForItsTextAlone(t *testing.T) {
	a := tsatest.New(t)
	want := time.Now().UTC().Truncate(time.Second).Add(-time.Hour)
	a.Change = func(p *tsatest.Parts) { p.Time = want }
	tsr := a.Stamp(text)
	at, signer, err := Check(tsr, text, a.Roots)
	if err != nil || !at.Equal(want) || signer != "CN=Clock of tests" {
		t.Fatalf("%v %q %v", at, signer, err)
	}
	if _, _, err := Check(tsr, append(text[:len(text):len(text)], '\n'), a.Roots); !errors.Is(err, ErrOtherText) {
		t.Errorf("another text: %v", err)
	}
	at, signer, err = Check(tsr, text, x509.NewCertPool())
	if !errors.Is(err, ErrUntrusted) || at.IsZero() || signer == "" {
		t.Errorf("without its root: %v %q %v", at, signer, err)
	}
	if tok, err := Read(tsr); err != nil || tok.Accuracy != time.Second || tok.Policy != "1.2.3.4" {
		t.Errorf("%+v %v", tok, err)
	}
}

// Each rule of the package comment, broken alone, is found.
func TestAnAnswerThatBreaksARuleIsRefused(t *testing.T) {
	a := tsatest.New(t)
	stamping, serving := x509.ExtKeyUsageTimeStamping, x509.ExtKeyUsageServerAuth
	issued := func(critical bool, usage ...x509.ExtKeyUsage) func(*tsatest.Parts) {
		c := a.Leaf(t, usage, critical)
		return func(p *tsatest.Parts) { p.Certificate, p.Named = c.Raw, c.Raw }
	}
	oid := func(n ...int) asn1.ObjectIdentifier { return n }
	for _, tt := range []struct {
		rule   string
		change func(*tsatest.Parts)
		want   string
	}{
		{"granted", func(p *tsatest.Parts) { p.Status = 2 }, "no token: refused"},
		{"one signature", func(p *tsatest.Parts) { p.Signers = 0 }, "0 signatures"},
		{"one signature, not two", func(p *tsatest.Parts) { p.Signers = 2 }, "2 signatures"},
		{"version 1", func(p *tsatest.Parts) { p.Version = 2 }, "version 2"},
		{"SHA-256", func(p *tsatest.Parts) { p.Digest = oid(1, 3, 14, 3, 2, 26) }, "not SHA-256"},
		{"the imprint", func(p *tsatest.Parts) { p.Imprint = make([]byte, 32) }, "another text"},
		{"the whole imprint", func(p *tsatest.Parts) { p.Imprint = p.Imprint[:31] }, "another text"},
		{"no critical extension", func(p *tsatest.Parts) {
			p.Extensions = []pkix.Extension{{Id: oid(1, 2, 3), Critical: true, Value: []byte{5, 0}}}
		}, "critical extension"},
		{"kind of the content", func(p *tsatest.Parts) { p.Kind = oid(1, 2, 840, 113549, 1, 7, 1) }, "another kind"},
		{"kind in the attributes", func(p *tsatest.Parts) { p.Signed = oid(1, 2, 840, 113549, 1, 7, 1) }, "another kind of content"},
		{"the content that was signed", func(p *tsatest.Parts) {
			p.Swap = func(b []byte) []byte { return bytes.Replace(b, []byte{2, 1, 7}, []byte{2, 1, 8}, 1) }
		}, "not the one that was signed"},
		{"the signature", func(p *tsatest.Parts) { p.Spoil = func(b []byte) { b[len(b)-1] ^= 1 } }, "signature is wrong"},
		{"a certificate comes along", func(p *tsatest.Parts) { p.Certificate = nil }, "lacks the certificate"},
		{"the signature names it", func(p *tsatest.Parts) { p.Named = nil }, "no ESS attribute"},
		{"it is the one named", func(p *tsatest.Parts) { p.Named = p.Named[1:] }, "not the one that the signature names"},
		{"usage is critical", issued(false, stamping), "for time-stamps alone"},
		{"no other usage", issued(true, stamping, serving), "for time-stamps alone"},
		{"not another usage", issued(true, serving), "for time-stamps alone"},
		{"usage is there", issued(false), "for time-stamps alone"},
		{"certificates valid then", func(p *tsatest.Parts) { p.Time = p.Time.Add(-48 * time.Hour) }, "no trusted root"},
		{"and not yet over", func(p *tsatest.Parts) { p.Time = p.Time.Add(48 * time.Hour) }, "no trusted root"},
	} {
		a.Change = tt.change
		if _, _, err := Check(a.Stamp(text), text, a.Roots); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.rule, err, tt.want)
		}
	}
	a.Change = issued(true, stamping) // the means by which usage was broken break nothing by themselves
	if _, _, err := Check(a.Stamp(text), text, a.Roots); err != nil {
		t.Error(err)
	}
}

// No bit of an answer that is checked can be turned without a trace: it is refused, or says the same of the same text.
func TestNoBitOfAnAnswerCanBeTurned(t *testing.T) {
	a := tsatest.New(t)
	tsr := a.Stamp(text)
	at, signer, err := Check(tsr, text, a.Roots)
	if err != nil {
		t.Fatal(err)
	}
	for i := range tsr {
		for bit := range 8 {
			forged := bytes.Clone(tsr)
			forged[i] ^= 1 << bit
			if again, by, err := Check(forged, text, a.Roots); err == nil && (!again.Equal(at) || by != signer) {
				t.Fatalf("octet %d, bit %d: %v by %q", i, bit, again, by)
			}
		}
		if _, _, err := Check(tsr[:i], text, a.Roots); err == nil {
			t.Fatalf("%d octets are taken for %d", i, len(tsr))
		}
	}
}

func TestARequestTakesTheAnswerToItselfAlone(t *testing.T) {
	a := tsatest.New(t)
	r, other := NewRequest(text), NewRequest(text)
	query, err := r.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	answer := a.Answer(query)
	if _, _, err := r.Accept(answer, text, a.Roots); err != nil {
		t.Error(err)
	}
	if _, _, err := other.Accept(answer, text, a.Roots); err == nil || !strings.Contains(err.Error(), "nonce") {
		t.Errorf("another request: %v", err)
	}
	for name, nonce := range map[string]*big.Int{"none": nil, "another": big.NewInt(1)} {
		a.Change = func(p *tsatest.Parts) { p.Nonce = nonce }
		if _, _, err := r.Accept(a.Answer(query), text, a.Roots); err == nil || !strings.Contains(err.Error(), "nonce") {
			t.Errorf("nonce %s: %v", name, err)
		}
	}
}

func TestAFileHoldsSeveralAnswers(t *testing.T) {
	a := tsatest.New(t)
	one, two := a.Stamp(text), a.Stamp([]byte("other"))
	got, err := Split(slices.Concat(one, two))
	if err != nil || len(got) != 2 || !bytes.Equal(got[0], one) || !bytes.Equal(got[1], two) {
		t.Fatalf("%d answers, %v", len(got), err)
	}
	if got, err := Split(nil); err != nil || len(got) != 0 {
		t.Errorf("nothing: %d answers, %v", len(got), err)
	}
	for name, bad := range map[string][]byte{
		"cut": one[:len(one)-1], "tail": append(bytes.Clone(one), 0), "text": []byte("no DER"), "too many": bytes.Repeat(two, 17),
	} {
		if _, err := Split(bad); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestAskSaysWhyThereIsNoAnswer(t *testing.T) {
	a := tsatest.New(t)
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"status", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }, "answered 403"},
		{"type", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write(a.Stamp(text))
		}, "no time-stamping authority"},
		{"replay", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/timestamp-reply")
			_, _ = w.Write(a.Stamp(text))
		}, "nonce"},
		{"size", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/timestamp-reply")
			_, _ = w.Write(make([]byte, 2*MaxResponse))
		}, "at most 65536 octets"},
		{"", a.ServeHTTP, ""},
	} {
		server := httptest.NewServer(tt.answer)
		got, err := Ask(t.Context(), server.Client(), server.URL, text, a.Roots)
		if tt.want == "" {
			if _, _, again := Check(got.Response, text, a.Roots); err != nil || again != nil || got.Signer != "CN=Clock of tests" {
				t.Errorf("%+v %v %v", got, err, again)
			}
		} else if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
		server.Close()
	}
}
