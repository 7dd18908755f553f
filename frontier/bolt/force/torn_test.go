package force_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/bolt"
)

var pageSize = os.Getpagesize() // as bbolt makes a file

func lookAt(t *testing.T, file []byte, urls []string) *sight {
	t.Helper()
	name := filepath.Join(t.TempDir(), "image.db")
	mustWrite(t, name, string(file))
	defer os.Remove(name)
	return look(t, name, urls)
}

func pageAt(file []byte, i int) []byte {
	from := min(i*pageSize, len(file))
	return file[from:min(from+pageSize, len(file))]
}

func changed(before, after []byte) (pages []int) {
	for i := 2; i*pageSize < len(after); i++ {
		if !bytes.Equal(pageAt(before, i), pageAt(after, i)) {
			pages = append(pages, i)
		}
	}
	return pages
}

// image is the file before a commit with some of the pages that it wrote.
func (c *commit) image(pages []int, long bool) []byte {
	size := len(c.before)
	if long {
		size = max(size, len(c.after))
	}
	for _, i := range pages {
		size = max(size, (i+1)*pageSize)
	}
	b := append(bytes.Clone(c.before), make([]byte, size-len(c.before))...)
	for _, i := range pages {
		copy(b[i*pageSize:(i+1)*pageSize], pageAt(c.after, i))
	}
	return b
}

func half(rnd *rand.Rand, pages []int) (some []int) {
	for _, i := range pages {
		if rnd.IntN(2) == 0 {
			some = append(some, i)
		}
	}
	return some
}

// A power failure before the first sync of a commit leaves any of its data pages, and the old meta page.
func TestTorn_HalfOfDataPagesLosesNothing(t *testing.T) {
	list, urls := commits(t)
	rnd := rand.New(rand.NewPCG(1, rand.Uint64()))
	images, pages := 0, 0
	for images < sizes(100, 1000) {
		c := &list[rnd.IntN(len(list))]
		some := half(rnd, c.changed)
		b := c.image(some, rnd.IntN(2) == 0)
		s := lookAt(t, b, urls)
		require.Truef(t, s.same(c.was), "image %d, with pages %v of %v: something else than before the commit", images, some, c.changed)
		images, pages = images+1, pages+len(some)
	}
	t.Logf("torn: %d images with %d pages in all of %d commits: all open, clean, and with all that was acknowledged", images, pages, len(list))
	assert.GreaterOrEqual(t, pages, images, "so few pages were torn that it proves nothing")
}

// A faulty disk has the new meta page and not all data pages. The file is then damaged, or right.
func TestTorn_NewMetaPageWithoutData(t *testing.T) {
	list, urls := commits(t)
	rnd := rand.New(rand.NewPCG(2, rand.Uint64()))
	type image struct {
		c    *commit
		some []int
	}
	var images []image
	for i := range list { // each page is missing once
		c := &list[i]
		for k := range c.changed[:min(len(c.changed), sizes(20, 2000))] {
			images = append(images, image{c, slices.Delete(slices.Clone(c.changed), k, k+1)})
		}
	}
	for range sizes(50, 1000) {
		c := &list[rnd.IntN(len(list))]
		images = append(images, image{c, half(rnd, c.changed)})
	}
	damaged, right, opened := 0, 0, 0
	for i, image := range images {
		c, some := image.c, image.some
		name := filepath.Join(t.TempDir(), fmt.Sprint(i))
		mustWrite(t, name, string(c.image(append([]int{0, 1}, some...), rnd.IntN(2) == 0)))
		found, err := bolt.Check(name)
		if err != nil || len(found) > 0 {
			damaged++
			if opens(name) {
				opened++
			}
			os.Remove(name)
			continue
		}
		right++
		require.Truef(t, look(t, name, urls).same(c.is), "image %d, with pages %v of %v: clean, and something else than after the commit", i, some, c.changed)
		os.Remove(name)
	}
	t.Logf("torn: %d images with the new meta page: %d reported as damaged (%d of them by Check only), %d right, none silently wrong", len(images), damaged, opened, right)
	assert.NotEqual(t, 0, damaged, "nothing was damaged: it proves nothing")
}

// opens reports whether a damaged file is opened nevertheless; there may be errors, but no panic.
func opens(name string) bool {
	f, err := bolt.Open(name, options())
	if err != nil {
		return false
	}
	defer f.Close()
	ctx := context.Background()
	if _, err := f.Claim(ctx, frontier.Want{Hosts: 100, Tasks: 10_000}); err != nil {
		return false
	}
	_, err = f.Add(ctx, candidates([]string{"http://later.test/"}))
	return err == nil
}
