package webbotauth

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"curtsy/frontier/canon"
	"curtsy/storage/plainly"
)

// The life of a signature. A day is what the drafts recommend at most; below some seconds a clock that is a little off
// makes every signature void.
const (
	DefaultLife = 5 * time.Minute
	LeastLife   = 10 * time.Second
	MostLife    = 24 * time.Hour
)

const (
	label     = "sig1"
	tag       = `;tag="web-bot-auth"`
	nonceSize = 64 // bytes, as the drafts that ask for a nonce recommend
)

// Signer signs requests.
type Signer struct {
	key    *Key
	rules  rules
	life   int64   // seconds
	agent  covered // the component of Signature-Agent
	fields string  // the line of Signature-Agent, which all requests carry alike
}

// New returns a Signer by a draft, whose signatures count for life.
func New(k *Key, a Agent, d Draft, life time.Duration) (*Signer, error) {
	r, err := d.rules()
	if err != nil {
		return nil, err
	}
	if life < LeastLife || life > MostLife {
		return nil, fmt.Errorf("signatures that count for %s: %s is the least and %s the most", plainly.Duration(life),
			plainly.Duration(LeastLife), plainly.Duration(MostLife))
	}
	value, err := a.value(r)
	if err != nil {
		return nil, err
	}
	s := &Signer{key: k, rules: r, life: int64(life / time.Second), agent: covered{`"signature-agent"`, value}}
	if r.dictionary {
		s.agent.id += `;key="` + label + `"`
		value = label + "=" + value
	}
	s.fields = "Signature-Agent: " + value + "\r\n"
	return s, nil
}

// AgentField is the line of Signature-Agent, with its end, as each request carries it.
func (s *Signer) AgentField() string { return s.fields }

// Append appends the lines that sign a request to an authority, as the field Host has it, that is sent at an instant.
func (s *Signer) Append(head []byte, authority string, at time.Time) []byte {
	nonce := ""
	if s.rules.nonce {
		var b [nonceSize]byte
		rand.Read(b[:])
		nonce = base64.RawURLEncoding.EncodeToString(b[:])
	}
	input, signature := s.sign(authority, at.Unix(), nonce)
	head = append(head, s.fields...)
	head = append(head, "Signature-Input: "+label+"="...)
	head = append(head, input...)
	head = append(head, "\r\nSignature: "+label+"="...)
	head = append(head, signature...)
	return append(head, "\r\n"...)
}

// sign has the parameters in the order of the drafts' test vectors.
func (s *Signer) sign(authority string, created int64, nonce string) (input, signature string) {
	params := ";created=" + strconv.FormatInt(created, 10) + `;keyid="` + s.key.id + `";alg="ed25519";expires=` +
		strconv.FormatInt(created+s.life, 10)
	if nonce != "" {
		params += `;nonce="` + nonce + `"`
	}
	return s.key.sign(params+tag, covered{`"@authority"`, authority}, s.agent)
}

// WellKnown is where a key directory is published, unless an Agent says otherwise.
const WellKnown = "/.well-known/http-message-signatures-directory"

// maxAgent is the longest URL of an agent, in bytes: it goes with each request.
const maxAgent = 256

// Agent is where a crawler publishes its keys. The URL, not the key, is what sites know the crawler by.
type Agent struct{ directory canon.URL }

// ParseAgent reads the URL of a key directory. An origin stands for the directory at its well-known path.
func ParseAgent(text string) (Agent, error) {
	u, err := canon.Parse(text)
	if err != nil {
		return Agent{}, fmt.Errorf("signature agent %q: %w", text, err)
	}
	origin := "https://" + u.Authority().HostPort()
	path, ok := strings.CutPrefix(u.String(), origin)
	switch {
	case !ok:
		return Agent{}, fmt.Errorf("signature agent %q: keys are published over https", text)
	case len(u.String()) > maxAgent:
		return Agent{}, fmt.Errorf("signature agent: over %d bytes, and it goes with each request", maxAgent)
	case strings.ContainsAny(text, "?#@"):
		return Agent{}, fmt.Errorf("signature agent %q: write it without user, query and fragment", text)
	case path == "/":
		u, err = canon.Parse(origin + WellKnown)
	}
	return Agent{u}, err
}

// URL is that of the key directory.
func (a Agent) URL() string { return a.directory.String() }

// authority is whom the key directory is asked of (RFC 9421 2.2.3).
func (a Agent) authority() string { return a.directory.Authority().HostPort() }

// value is what the field Signature-Agent says, a structured string: a URL has no octet that must be escaped in it.
func (a Agent) value(r rules) (string, error) {
	if r.whole {
		return `"` + a.URL() + `"`, nil
	}
	origin := "https://" + a.authority()
	if a.URL() != origin+WellKnown {
		return "", fmt.Errorf("signature agent %s: by draft %s keys are published at %s%s, nowhere else", a.URL(), r.draft,
			origin, WellKnown)
	}
	return `"` + origin + `"`, nil
}
