//! Runs plain Rust loops compiled for the CPU at hand (AVX2 + FMA), without compiler flags.
//!
//! A [`Kernel`] is written once in portable Rust; [`dispatch`] runs it either as compiled for
//! the baseline target or inlined into a function with AVX2 and FMA enabled. Which one is
//! decided by CPUID at run time. `unsafe` is only the call into that function.

/// A loop to be compiled twice: portable, and with AVX2 and FMA.
///
/// Implementations must mark `run` and everything hot it calls `#[inline(always)]`.
pub trait Kernel {
    /// What the loop returns.
    type Output;
    /// The loop. `FMA` tells whether [`mul_add`] is one instruction.
    fn run<const FMA: bool>(self) -> Self::Output;
}

/// `a * b + c`, fused where that is one instruction and two roundings elsewhere.
#[inline(always)]
pub fn mul_add<const FMA: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// Runs the kernel in the best version for this CPU.
#[inline]
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
        // SAFETY: the CPU has the two features the function is compiled for.
        return unsafe { run_avx2(kernel) };
    }
    portable(kernel)
}

/// Runs the kernel in its portable version: the safe twin for tests.
#[inline]
pub fn portable<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<{ cfg!(target_arch = "aarch64") }>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<true>()
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
