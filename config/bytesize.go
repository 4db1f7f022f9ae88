package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ByteSize is a number of bytes, written as a whole number with a binary unit: 512B, 64KiB, 8MiB, 4GiB or 1TiB.
// Decimal units (MB, GB) are rejected, because many readers take them for binary ones.
type ByteSize int64

func byteUnits() []string {
	return []string{"B", "KiB", "MiB", "GiB", "TiB"}
}

// String writes b in the largest unit that leaves a whole number, so that reading it again gives b.
func (b ByteSize) String() string {
	units := byteUnits()
	for len(units) > 1 && b != 0 && b%1024 == 0 {
		b /= 1024
		units = units[1:]
	}
	return strconv.FormatInt(int64(b), 10) + units[0]
}

// UnmarshalText reads what String writes. It leaves b alone when text is not a size below 8 EiB.
func (b *ByteSize) UnmarshalText(text []byte) error {
	size := string(text)
	number := size[:len(size)-len(strings.TrimLeft(size, "0123456789"))]
	unit := slices.Index(byteUnits(), size[len(number):])
	if number == size {
		unit = 0
	}
	count, err := strconv.ParseInt(number, 10, 64)
	if err != nil || unit < 0 || count > math.MaxInt64>>(10*unit) {
		return fmt.Errorf("%q is not a size such as 64KiB, 8MiB or 4GiB", size)
	}
	*b = ByteSize(count << (10 * unit))
	return nil
}
