package timestamp

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"
)

// An Answer is what an authority stated of a text, checked.
type Answer struct {
	Response []byte // as it came, to be kept
	Time     time.Time
	Signer   string
}

// Ask has the authority at a URL state the time of text (RFC 3161 3.4), and checks what it answers. An answer whose
// signer is not trusted is returned with ErrUntrusted.
func Ask(ctx context.Context, client *http.Client, url string, text []byte, roots *x509.CertPool) (Answer, error) {
	r := NewRequest(text)
	query, err := r.Marshal()
	if err != nil {
		return Answer{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(query))
	if err != nil {
		return Answer{}, fmt.Errorf("timestamp: %w", err)
	}
	req.Header.Set("Content-Type", "application/timestamp-query")
	req.Header.Set("Accept", "application/timestamp-reply")
	resp, err := client.Do(req)
	if err != nil {
		return Answer{}, fmt.Errorf("timestamp: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return Answer{}, fmt.Errorf("timestamp: it answered %d, not 200", resp.StatusCode)
	}
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || kind != "application/timestamp-reply" {
		return Answer{}, errors.New("timestamp: its answer is not of the type application/timestamp-reply: " +
			"it is no time-stamping authority")
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, MaxResponse+1))
	if err != nil {
		return Answer{}, fmt.Errorf("timestamp: its answer was cut short: %w", err)
	}
	a := Answer{Response: b}
	a.Time, a.Signer, err = r.Accept(b, text, roots)
	return a, err
}
