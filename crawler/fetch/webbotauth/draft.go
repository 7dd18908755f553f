package webbotauth

import (
	"fmt"
	"strings"
)

// Draft is a state of the specification, by which requests are signed.
type Draft string

// The drafts, the latest first.
const (
	IETF01         Draft = "ietf-01"         // draft-ietf-webbotauth-httpsig-protocol-01
	IETF00         Draft = "ietf-00"         // the same, -00; draft-meunier-webbotauth-httpsig-protocol-02
	Architecture05 Draft = "architecture-05" // draft-meunier-web-bot-auth-architecture-04 and -05
	Architecture03 Draft = "architecture-03" // the same, -02 and -03
)

// DefaultDraft is the latest that a working group has published.
const DefaultDraft = IETF01

// rules are what differs from draft to draft.
type rules struct {
	draft      Draft
	dictionary bool // Signature-Agent is a dictionary, whose key is the label of the signature; else a string
	whole      bool // its value is the URL of the key directory; else an origin, at which the well-known path is asked
	nonce      bool // each signature has one (SHOULD)
	digest     bool // the signature of the key directory covers its content
}

var drafts = []rules{
	{IETF01, true, true, false, true},
	{IETF00, true, false, false, true},
	{Architecture05, true, false, true, false},
	{Architecture03, false, false, true, false},
}

// Drafts are the names of all drafts, the latest first.
func Drafts() (names []string) {
	for _, r := range drafts {
		names = append(names, string(r.draft))
	}
	return names
}

// ParseDraft returns the draft of a name.
func ParseDraft(name string) (Draft, error) {
	r, err := Draft(name).rules()
	return r.draft, err
}

func (d Draft) rules() (rules, error) {
	for _, r := range drafts {
		if r.draft == d {
			return r, nil
		}
	}
	return rules{}, fmt.Errorf("%q is not a known draft of Web Bot Auth; known are %s", string(d),
		strings.Join(Drafts(), ", "))
}
