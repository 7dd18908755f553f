package crawldir

import (
	"errors"
	"io/fs"

	"curtsy/crawler/fetch"
	"curtsy/crawler/fetch/webbotauth"
)

// MakeBotKey returns the key that the user's requests are signed with, and makes it if there is none.
func MakeBotKey() (*webbotauth.Key, error) { return botKey(BotKey.Make) }

func botKey(read func(path string) ([]byte, error)) (*webbotauth.Key, error) {
	path, err := BotKey.Path()
	if err != nil {
		return nil, err
	}
	seed, err := read(path)
	if err != nil {
		return nil, err
	}
	return webbotauth.NewKey(seed)
}

// signer signs the requests of the crawl; nil where nobody asked for that.
func (s *Settings) signer() (fetch.Signer, error) {
	if s.SignatureAgent == "" {
		return nil, nil
	}
	agent, err := webbotauth.ParseAgent(s.SignatureAgent)
	if err != nil {
		return nil, misuse("--signature-agent: %w", err)
	}
	key, err := botKey(BotKey.Read)
	none := errors.Is(err, fs.ErrNotExist)
	if none { // what is wrong with the settings is said first, whatever key there is
		key, err = webbotauth.NewKey(make([]byte, 32))
	}
	if err != nil {
		return nil, err
	}
	signer, err := webbotauth.New(key, agent, s.SignatureDraft, s.SignatureLife)
	if err != nil {
		return nil, misuse("--signature-draft, --signature-life: %w", err)
	}
	if none {
		return nil, misuse("--signature-agent %s: no key to sign with yet: curtsy identity keygen makes it",
			agent.URL())
	}
	return signer, nil
}
