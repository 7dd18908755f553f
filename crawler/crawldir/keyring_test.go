package crawldir

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/ledger/checkpoint"
)

var noon = time.Date(2026, 5, 3, 12, 0, 0, 0, time.UTC)

func keyFile(t *testing.T) (path string, secret []byte) {
	t.Helper()
	path, secret = filepath.Join(t.TempDir(), "ledger.key"), []byte(strings.Repeat("s", 32))
	require.NoError(t, os.WriteFile(path, []byte(hex.EncodeToString(secret)+"\n"), 0o600))
	return path, secret
}

func secretIn(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	secret, err := hex.DecodeString(strings.TrimSpace(string(b)))
	require.NoError(t, err)
	return secret
}

func keyOf(t *testing.T, secret []byte) checkpoint.Key {
	t.Helper()
	s, err := checkpoint.NewSigner(secret)
	require.NoError(t, err)
	return s.Key()
}

func rotate(t *testing.T, path string, at time.Time) Rotation {
	t.Helper()
	r, err := Rotate(path, secretIn(t, path), at)
	require.NoError(t, err)
	return r
}

func TestARotationIsSignedByBothKeysAndDestroysTheOldSecret(t *testing.T) {
	path, secret := keyFile(t)
	first := rotate(t, path, noon)
	second := rotate(t, path, noon.Add(time.Hour))
	now := keyOf(t, secretIn(t, path))
	assert.Truef(t, first.Old == keyOf(t, secret) && first.New == second.Old && second.New == now && first.At.Equal(noon), "%+v, %+v, now %s", first, second, now)
	got, err := Rotations(path, now)
	assert.Truef(t, err == nil && len(got) == 2 && got[0].Rotation == first.Rotation && got[1].Rotation == second.Rotation, "%+v, %v", got, err)
	for _, r := range got {
		parsed, err := checkpoint.ParseRotation(r.Note)
		assert.Truef(t, err == nil && parsed == r.Rotation, "%+v, %v", parsed, err)
	}
	err = filepath.WalkDir(filepath.Dir(path), func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		assert.NotContainsf(t, string(b), hex.EncodeToString(secret), "%s has the old secret", name)
		fi, e := d.Info()
		assert.Falsef(t, e != nil || runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600, "%s: mode %v, %v", name, fi.Mode(), e)
		return err
	})
	assert.NoError(t, err)
}

func TestRotate_ContinuesAfterAKill(t *testing.T) {
	for _, kept := range []struct {
		name         string
		secret, note bool
	}{{"before anything", false, false}, {"behind the secret", true, false}, {"behind the note", true, true}} {
		t.Run(kept.name, func(t *testing.T) {
			path, secret := keyFile(t)
			old := keyOf(t, secret)
			var next []byte
			if kept.secret {
				var err error
				next, err = nextKey.Make(path + nextSuffix)
				require.NoError(t, err)
			}
			if kept.note {
				from, _ := checkpoint.NewSigner(secret)
				to, _ := checkpoint.NewSigner(next)
				_, err := write(path, 0, from, to, noon)
				require.NoError(t, err)
			}
			led, err := Rotations(path, old)
			assert.Truef(t, err == nil && len(led) == 0 && keyOf(t, secretIn(t, path)) == old, "after the kill: %d rotations to the old key, %v", len(led), err)
			r := rotate(t, path, noon.Add(time.Minute))
			assert.Truef(t, (!kept.secret || r.New == keyOf(t, next)) && (!kept.note || r.At.Equal(noon)), "another rotation was made: %+v", r.Rotation)
			now := keyOf(t, secretIn(t, path))
			led, err = Rotations(path, now)
			assert.Truef(t, err == nil && len(led) == 1 && r.New == now, "%d rotations, %v", len(led), err)
			_, err = os.Stat(path + nextSuffix)
			assert.Truef(t, os.IsNotExist(err), "the next secret is left over: %v", err)
		})
	}
}

func TestADamagedNoteIsNamed(t *testing.T) {
	path, _ := keyFile(t)
	rotate(t, path, noon)
	before := secretIn(t, path)
	note := filepath.Join(filepath.Dir(path), folder, "000001.note")
	b, err := os.ReadFile(note)
	require.NoError(t, err)
	for what, damaged := range map[string]string{
		"an octet": strings.Replace(string(b), "2026-05-03", "2026-05-04", 1), "torn": string(b[:len(b)/2]), "empty": "",
		"huge": strings.Repeat("a", 2*checkpoint.MaxNote),
	} {
		require.NoError(t, os.WriteFile(note, []byte(damaged), 0o600))
		_, err := Rotations(path, keyOf(t, before))
		assert.ErrorContainsf(t, err, "000001.note", "%s: %v", what, err)
		_, err = Rotate(path, before, noon)
		assert.Truef(t, err != nil && string(secretIn(t, path)) == string(before), "%s: rotated all the same: %v", what, err)
	}
	require.NoError(t, os.WriteFile(path+nextSuffix, []byte("no key"), 0o600))
	_, err = Rotate(path, before, noon)
	assert.ErrorContainsf(t, err, ".next is damaged: remove it, and rotate again", "a damaged secret: %v", err)
}

func TestRotations_IgnoreOtherKeys(t *testing.T) {
	path, _ := keyFile(t)
	rotate(t, path, noon)
	led, err := Rotations(path, keyOf(t, []byte(strings.Repeat("x", 32))))
	assert.Truef(t, err == nil && len(led) == 0, "%d, %v", len(led), err)
}
