package value

import (
	"math"
	"math/big"
)

// Pow64 is x to the power y rounded to the nearest float, as C libraries
// compute it; math.Pow may be off in the last place, which shows in printed
// results such as 27 ** (1/3).
func Pow64(x, y float64) float64 {
	r := math.Pow(x, y)
	a := math.Abs(r)
	if x == 0 || x == 1 || a == 0 || a < 1e-300 || math.IsInf(r, 0) || math.IsNaN(r) || y == 1 || math.IsInf(x, 0) {
		return r
	}
	t := new(big.Float).SetPrec(powPrec).SetFloat64(y)
	t.Mul(t, bigLog(math.Abs(x)))
	f, _ := bigExp(t).Float64()
	return math.Copysign(f, r)
}

const powPrec = 160

func bigFloat(f float64) *big.Float { return new(big.Float).SetPrec(powPrec).SetFloat64(f) }

// atanh2 is 2*atanh(z) by its series; |z| is at most a third.
func atanh2(z *big.Float) *big.Float {
	z2 := new(big.Float).SetPrec(powPrec).Mul(z, z)
	sum := bigFloat(0)
	p := new(big.Float).SetPrec(powPrec).Set(z)
	for k := 1; k < 110; k += 2 {
		term := new(big.Float).SetPrec(powPrec).Quo(p, bigFloat(float64(k)))
		sum.Add(sum, term)
		if term.Sign() == 0 || term.MantExp(nil) < sum.MantExp(nil)-powPrec {
			break
		}
		p.Mul(p, z2)
	}
	return sum.Mul(sum, bigFloat(2))
}

func bigLn2() *big.Float {
	return atanh2(new(big.Float).SetPrec(powPrec).Quo(bigFloat(1), bigFloat(3)))
}

// bigLog is the natural logarithm of x > 0.
func bigLog(x float64) *big.Float {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		e--
	}
	num := new(big.Float).SetPrec(powPrec).Sub(bigFloat(m), bigFloat(1))
	den := new(big.Float).SetPrec(powPrec).Add(bigFloat(m), bigFloat(1))
	l := atanh2(num.Quo(num, den))
	return l.Add(l, new(big.Float).SetPrec(powPrec).Mul(bigFloat(float64(e)), bigLn2()))
}

// bigExp is e to the power t, for |t| below 1100.
func bigExp(t *big.Float) *big.Float {
	ln2 := bigLn2()
	f, _ := new(big.Float).Quo(t, ln2).Float64()
	k := math.Round(f)
	r := new(big.Float).SetPrec(powPrec).Sub(t, new(big.Float).SetPrec(powPrec).Mul(bigFloat(k), ln2))
	sum, term := bigFloat(1), bigFloat(1)
	for i := 1; i < 60; i++ {
		term.Mul(term, r)
		term.Quo(term, bigFloat(float64(i)))
		sum.Add(sum, term)
		if term.Sign() == 0 || term.MantExp(nil) < -powPrec {
			break
		}
	}
	return sum.SetMantExp(sum, int(k))
}
