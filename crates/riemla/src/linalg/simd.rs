//! Runs plain Rust loops compiled for the CPU at hand (AVX2 + FMA, AVX-512), without compiler flags.
//!
//! A [`Kernel`] is written once in portable Rust; [`dispatch`] runs it either as compiled for
//! the baseline target or inlined into a function with more CPU features enabled. Which one is
//! decided by CPUID at run time. `unsafe` is only the calls into those functions.

/// The instructions that a version of a kernel is compiled for.
pub trait Isa {
    /// Whether [`mul_add`] is one instruction.
    const FMA: bool;
    /// Whether there are 32 vector registers of 8 numbers, instead of 16 of 4 or 2.
    const WIDE: bool;
}

/// What every CPU of the target has.
pub struct Baseline;
impl Isa for Baseline {
    const FMA: bool = cfg!(target_arch = "aarch64");
    const WIDE: bool = false;
}

/// AVX2 and FMA.
pub struct Avx2;
impl Isa for Avx2 {
    const FMA: bool = true;
    const WIDE: bool = false;
}

/// AVX-512 (F and DQ).
pub struct Avx512;
impl Isa for Avx512 {
    const FMA: bool = true;
    const WIDE: bool = true;
}

/// A loop to be compiled once for each [`Isa`].
///
/// Implementations must mark `run` and everything hot it calls `#[inline(always)]`.
pub trait Kernel {
    /// What the loop returns.
    type Output;
    /// The loop.
    fn run<I: Isa>(self) -> Self::Output;
}

/// `a * b + c`, fused where that is one instruction and two roundings elsewhere.
#[inline(always)]
pub fn mul_add<I: Isa>(a: f64, b: f64, c: f64) -> f64 {
    if I::FMA { a.mul_add(b, c) } else { a * b + c }
}

/// Runs the kernel in the best version for this CPU.
#[inline]
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    {
        if has_avx512() {
            // SAFETY: the CPU has the features the function is compiled for.
            return unsafe { run_avx512(kernel) };
        }
        if has_avx2() {
            // SAFETY: the CPU has the two features the function is compiled for.
            return unsafe { run_avx2(kernel) };
        }
    }
    portable(kernel)
}

/// Whether the CPU has AVX2 and FMA.
#[inline]
pub(crate) fn has_avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn has_avx512() -> bool {
    has_avx2() && std::is_x86_feature_detected!("avx512f") && std::is_x86_feature_detected!("avx512dq")
}

/// Runs the kernel in its portable version: the safe twin for tests.
#[inline]
pub fn portable<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Baseline>()
}

/// Runs the kernel in its version for AVX2, also where the CPU has more: for tests.
///
/// # Panics
/// If the CPU lacks AVX2 or FMA.
#[cfg(test)]
pub fn avx2<K: Kernel>(kernel: K) -> K::Output {
    assert!(has_avx2());
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the CPU has the two features the function is compiled for.
    return unsafe { run_avx2(kernel) };
    #[cfg(not(target_arch = "x86_64"))]
    portable(kernel)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Avx2>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avx512f,avx512dq")]
fn run_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Avx512>()
}

/// Clears the upper halves of the vector registers.
///
/// faer's matrix product can leave them dirty, which makes later scalar SSE code (the
/// standard library's `tanh`, for one) many times slower, indefinitely.
#[inline]
pub fn clear_upper_registers() {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx") {
        // SAFETY: the CPU has AVX; the instruction touches no memory.
        unsafe { zero_upper() }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
fn zero_upper() {
    std::arch::x86_64::_mm256_zeroupper();
}
