// Package checktext is what people read of a check of links. Every text of a site is escaped. It is pure.
package checktext
