package webbotauth

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strconv"
	"time"

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
