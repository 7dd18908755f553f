package control

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// ErrStranger says that whoever answered does not know the secret.
var ErrStranger = errors.New("the other side did not prove that it knows the secret")

// The header fields of a message.
const (
	nonceField = "Curtsy-Nonce" // of the request: a number used once
	codeField  = "Curtsy-Code"  // of both
)

// maxAnswer bounds the body of an answer, in octets.
const maxAnswer = 64 << 20

// code is the code of a message that consists of parts. The first says whose it is, so that no message of the one can
// stand for one of the other; each has its length before it, so that no two messages have the same octets.
func code(secret string, parts ...string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	var n [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		mac.Write(n[:])
		mac.Write([]byte(p))
	}
	return hex.EncodeToString(mac.Sum(nil))
}

func requestCode(secret string, r *http.Request, nonce string, body []byte) string {
	return code(secret, "request", r.Method, r.URL.RequestURI(), nonce, string(body))
}

func answerCode(secret, nonce string, status int, body []byte) string {
	return code(secret, "answer", nonce, fmt.Sprint(status), string(body))
}

func equal(a, b string) bool { return hmac.Equal([]byte(a), []byte(b)) }

// Transport sends requests to those who know the secret. Requests and answers are held in memory.
type Transport struct {
	Secret string
	Base   http.RoundTripper
}

// RoundTrip implements http.RoundTripper. An answer without the proof is ErrStranger.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, errors.Join(err, r.Body.Close())
		}
		if err := r.Body.Close(); err != nil {
			return nil, err
		}
	}
	nonce := rand.Text()
	r = r.Clone(r.Context())
	r.Header.Set(nonceField, nonce)
	r.Header.Set(codeField, requestCode(t.Secret, r, nonce, body))
	if r.Body != nil {
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	resp, err := t.Base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	proof := resp.Header.Get(codeField)
	if proof == "" {
		return nil, fmt.Errorf("%w: it answers %s", ErrStranger, resp.Status) // its body is of no interest
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	if !equal(proof, answerCode(t.Secret, nonce, resp.StatusCode, answer)) {
		return nil, fmt.Errorf("%w: it answers %s", ErrStranger, resp.Status)
	}
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	return resp, nil
}

// Handler has next answer those who know the secret, and proves to them that the answer is ours. Others are refused before
// next hears of them. Bodies of requests have at most maxBody octets.
func Handler(secret string, maxBody int64, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		nonce, given := r.Header.Get(nonceField), r.Header.Get(codeField)
		if nonce == "" || given == "" { // before anything of it is read
			http.Error(w, "this is for those who know the secret", http.StatusUnauthorized)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil || !equal(given, requestCode(secret, r, nonce, body)) {
			http.Error(w, "this is for those who know the secret", http.StatusUnauthorized)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		held := &answer{header: w.Header(), status: http.StatusOK}
		next.ServeHTTP(held, r)
		w.Header().Set(codeField, answerCode(secret, nonce, held.status, held.body.Bytes()))
		w.WriteHeader(held.status)
		w.Write(held.body.Bytes())
	})
}

// answer is one that is not sent yet.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }
